"""Pictures of pages as inline SVG: nodes around a change, windows over axes, histograms."""
