"""The padding conventions of frameworks by name: what each pads, which agree, how each is written.

`named` has a row for each convention, and `frameworks` says which of them a framework follows.
`explanation` compares them at one size, `by_size` at all sizes, and `writing` puts them into the
words of PyTorch, Keras and ONNX.
"""
