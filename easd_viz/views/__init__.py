"""Trace -> what a browser draws: figures, colours and compact data. Nothing here reads files or holds state."""
