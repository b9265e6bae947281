"""true"""
