"""The padding conventions of frameworks by name: what each pads, which agree, how each is written.

`table` has a row for each convention, whose rules `rules` evaluates, and one for each framework.
`explanation` compares them, and `writing` puts them into the words of PyTorch, Keras and ONNX.
"""
