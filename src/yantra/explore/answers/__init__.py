"""What plans and finished studies are asked: the best, how sure, why not another, what pays."""
