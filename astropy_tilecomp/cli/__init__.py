"""The command ``tilecomp``: `group` has the list of its commands, each of which is a module of this folder."""
