"""A cuTile block that waits for a flag."""

import cuda.tile as ct


def waits_for(value):
    @ct.kernel
    def kernel(flag, y):
        while ct.atomic_cas(flag, 0, 0, 1) != value:
            pass
        ct.store(y, index=(0,), tile=ct.full((32,), 1.0, dtype=ct.float32))

    return kernel
