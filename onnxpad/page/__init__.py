"""Reports as one self-contained HTML page, which loads nothing and runs no script."""
