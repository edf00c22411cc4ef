"""One flat module per format: `ls parsers` is the catalogue of what can be read."""
