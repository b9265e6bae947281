"""What a preview means, from its event stream to one comment. Pure: bytes and values in, text out.

stream → changes, cells, findings, waivers, costs → verdict (together: `document`) → page → markdown, text
"""
