"""Reports as one self-contained HTML page, which loads nothing and runs no script.

Whatever comes from a model is escaped by `markup.esc`; nothing else makes text into markup.
"""
