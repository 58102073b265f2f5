"""The faces that other tools see, one file each."""
