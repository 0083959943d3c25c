"""The padding conventions of frameworks: `table` has them, and `rules` evaluates them.

`explanation` compares them, and `writing` puts them into the words of PyTorch, Keras and ONNX.
"""
