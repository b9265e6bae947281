"""Redaction. Two entry points: `texts` removes secrets from texts, `names` recognises names of secrets."""
