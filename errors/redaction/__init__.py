"""What may not be shown. Two ways in: `texts` takes secrets out of a text, `names` knows names of secrets."""
