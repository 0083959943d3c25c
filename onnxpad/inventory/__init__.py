"""Every padding of a model as it stands: how it is written, how much it is, and what becomes of it.

Nothing here rewrites a model. A site is one operator that pads, with the `Pad`s in front of it. The
sites of two models are compared, too.
"""
