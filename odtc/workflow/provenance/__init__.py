"""Links between files and models, and the claims that they allow."""
