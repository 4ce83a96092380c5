"""Train CTGAN on arrays and sample from it; runs in CTGAN's own environment.

python ctgan_worker.py TRAINING.npz MODEL MADE.npz N_ROWS SEED EPOCHS

Imports nothing of ours, and late what only that environment has.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Train unless the model is there, sample, and leave both as whole files."""
    training, model, made = (Path(argument) for argument in sys.argv[1:4])
    n_rows, seed, epochs = (int(argument) for argument in sys.argv[4:])
    with np.load(training) as found:
        columns = {name: found[name] for name in found.files}
    sampled = _sample(columns, model, n_rows, seed, epochs) if columns else {}
    draft = made.with_suffix(".draft.npz")
    np.savez(draft, **sampled)
    draft.rename(made)


def _sample(
    columns: dict[str, Any], model: Path, n_rows: int, seed: int, epochs: int
) -> dict[str, Any]:
    import pandas as pd
    import torch  # type: ignore[import-not-found]
    from ctgan import CTGAN  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    if model.exists():
        trained = CTGAN.load(model)
    else:
        np.random.seed(seed)  # noqa: NPY002 - CTGAN draws from this one
        torch.manual_seed(seed)
        trained = CTGAN(epochs=epochs, enable_gpu=False)
        trained.set_random_state(seed)
        categories = [name for name, a in columns.items() if a.dtype.kind != "f"]
        trained.fit(pd.DataFrame(columns), categories)
        draft = model.with_suffix(".draft")
        trained.save(draft)
        draft.rename(model)
    trained.set_random_state(seed)
    made = trained.sample(n_rows)
    return {name: made[name].to_numpy() for name in columns}


if __name__ == "__main__":
    main()
