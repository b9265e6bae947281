"""Turns the event stream of a preview into one comment. Pure: bytes and values in, text out.

stream → changes, cells, findings, waivers, costs → verdict (together: `document`) → page → markdown, text
"""
