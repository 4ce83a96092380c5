"""The paper's evaluation, reproduced, and what it needs."""
