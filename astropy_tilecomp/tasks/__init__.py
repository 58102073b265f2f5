"""Work on whole files: one module for each job, named after the function it holds."""
