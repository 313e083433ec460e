"""The model: a mixture of products, what makes it, how it is fitted, sampled and saved."""
