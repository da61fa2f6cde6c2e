"""A vector addition in CUDA Tile C++."""


def in_tiles(tile: int) -> str:
    """A vector addition in tiles of this size, for vectors that they divide."""
    views = "\n".join(
        f"auto {x.upper()} = ct::partition_view{{ct::tensor_span{{{x}, ct::extents{{n}}}}, ct::shape{{{tile}_ic}}}};"
        for x in "abc"
    )
    return f"""\
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {{
{views}
int i = ct::bid().x;
C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}}"""
