"""Scores of a configuration: how well all masked attributes together predict the label."""
