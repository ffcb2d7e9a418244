"""Readers, model and answers. Nothing in here knows of a screen."""
