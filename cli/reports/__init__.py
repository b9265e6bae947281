"""Answers and matrices as text, Markdown, HTML and plain data. Pure: no file, no clock, no terminal."""
