"""The model: a mixture of products, what makes it, how it is fitted, drawn from and saved."""
