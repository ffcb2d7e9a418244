"""Answers without a screen: text for a person, JSON and CSV for a program, Markdown for a
document.
"""
