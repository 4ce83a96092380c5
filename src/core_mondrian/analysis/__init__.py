"""Analyses of releases and of the algorithm itself.

small_domains   every table of a small domain, and what becomes of it
minimality      what a reader who knows the algorithm infers beyond face value
"""
