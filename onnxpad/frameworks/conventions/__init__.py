"""The padding conventions of frameworks: `table` has them, and rules of `question` evaluate them.

`explanation` compares them, and `writing` puts them into the words of PyTorch, Keras and ONNX.
"""
