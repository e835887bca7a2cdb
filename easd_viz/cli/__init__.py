"""The command line's verbs, one module each: ``add_parser(verbs)`` declares it, its handler returns the exit code."""
