"""Which of many ways to compile a program is the fastest: foretold by the model, and measured where there is a GPU."""
