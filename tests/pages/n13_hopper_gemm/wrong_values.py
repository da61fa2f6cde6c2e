"""Wrong answers to notebook 13 that are told by what they return: bytes, who holds a sum, stages and phases."""

from tests.pages.change import copy_of
from tests.pages.table import answer, says
from tutorlib.exercises.n13_hopper_gemm import exercises as n13_hopper_gemm

RIGHT_ONES = copy_of(n13_hopper_gemm)
right_holder, right_bytes, right_ring = RIGHT_ONES.holder, RIGHT_ONES.tma_bytes, RIGHT_ONES.ring

# 13.2 tma_bytes -------------------------------------------------------------------------------------------------


@says("TMA writes the zeros outside the matrix too")
def counts_what_is_inside(shape, tile, place):
    """Zeros are not counted."""
    return (right_bytes(shape, tile, place)[0],) * 2


@says("A bf16 element has 2 bytes.")
def counts_elements(shape, tile, place):
    """Elements for bytes."""
    return tuple(n // 2 for n in right_bytes(shape, tile, place))


@says("TMA does not read outside the matrix.")
def reads_all(shape, tile, place):
    """Reads outside the matrix."""
    return (right_bytes(shape, tile, place)[1],) * 2


@says("never below 0")
def negative_outside(shape, tile, place):
    """A tile that is outside has fewer than no rows."""
    down, across = (min(step, size - at * step) for size, step, at in zip(shape, tile, place, strict=True))
    return 2 * down * across, 2 * tile[0] * tile[1]


@says("(read, counted)")
def counted_then_read(shape, tile, place):
    """The pair exchanged."""
    return right_bytes(shape, tile, place)[::-1]


def clamps_the_product(shape, tile, place):
    """Outside below and on the right is inside again: minus times minus."""
    read, counted = negative_outside(shape, tile, place)
    return max(0, read), counted


def rows_alone(shape, tile, place):
    """Rows end at M, and columns nowhere."""
    down = max(0, min(tile[0], shape[0] - place[0] * tile[0]))
    return 2 * down * tile[1], 2 * tile[0] * tile[1]


def place_in_elements(shape, tile, place):
    """The tile's coordinates for those of its first element."""
    down, across = (max(0, min(step, size - at)) for size, step, at in zip(shape, tile, place, strict=True))
    return 2 * down * across, 2 * tile[0] * tile[1]


def columns_first(shape, tile, place):
    """The place as TMA's coordinates have it, the contiguous mode first."""
    return right_bytes(shape, tile, place[::-1])


def the_pages_box(shape, tile, place):
    """128 × 64, whatever the box."""
    return right_bytes(shape, tile, place)[0], 2 * 128 * 64


def remainders(shape, tile, place):
    """Rests by %, which are 0 where the tile divides the matrix."""
    down, across = (
        size % step if at == size // step - (size % step == 0) else step
        for size, step, at in zip(shape, tile, place, strict=True)
    )
    return 2 * down * across, 2 * tile[0] * tile[1]


def not_sent_outside(shape, tile, place):
    """As if nobody asked for a box that is outside."""
    read, counted = right_bytes(shape, tile, place)
    return read, counted if read else 0


def four_bytes(shape, tile, place):
    """fp32."""
    return tuple(2 * n for n in right_bytes(shape, tile, place))


BYTES = [counts_what_is_inside, counts_elements, reads_all, negative_outside, counted_then_read, clamps_the_product]
BYTES += [rows_alone, place_in_elements, columns_first, the_pages_box, remainders, not_sent_outside, four_bytes]
BYTES += [answer("what_is_counted", "One number.", lambda shape, tile, place: 2 * tile[0] * tile[1])]

# 13.4 holder ----------------------------------------------------------------------------------------------------


@says("A warp has 16 rows")
def rows_dealt_out(m, n):
    """Row after row to one warp after the other."""
    return 32 * (m % 4) + 4 * (m // 4 % 8) + n % 8 // 2, n % 2 + 2 * (m // 32) + 4 * (n // 8)


@says("in two more registers")
def a_thread_for_each_row(m, n):
    """256 threads."""
    return 4 * m + n % 8 // 2, n % 2 + 2 * (n // 8)


@says("first two neighbors of a row")
def halves_last(m, n):
    """The rows 8 below come after all columns."""
    return right_holder(m, n)[0], n % 2 + 2 * (n // 8) + 64 * (m % 16 // 8)


@says("columns 0 and 1 are thread 0's")
def pairs_apart(m, n):
    """Columns 0 and 4 to one thread."""
    return right_holder(m, n // 8 * 8)[0] + n % 4, n % 8 // 4 + 2 * (m % 16 // 8) + 4 * (n // 8)


@says("Thread numbers run over the warpgroup")
def lanes(m, n):
    """The lane, not the thread."""
    return right_holder(m % 16, n)


def the_pictures_columns(m, n):
    """The 64 columns of the picture, again and again."""
    return right_holder(m, n % 64)


def halves_between_neighbors(m, n):
    """The row 8 below before the neighbor in the row."""
    thread, _ = right_holder(m, n)
    return thread, m % 16 // 8 + 2 * (n % 2) + 4 * (n // 8)


def lanes_down_the_columns(m, n):
    """Lanes go down the 8 rows first."""
    return 32 * (m // 16) + m % 8 + 8 * (n % 8 // 2), right_holder(m, n)[1]


def warps_of_8_rows(m, n):
    """8 rows for a warp, so that there are eight."""
    return 32 * (m // 8) + 4 * (m % 8) + n % 8 // 2, n % 2 + 2 * (n // 8)


def transposed(m, n):
    """Rows for columns within a piece."""
    return right_holder(m // 8 * 8 + n % 8, n // 8 * 8 + m % 8)


def a_warp_across(m, n):
    """Warps side by side in place of one above the other."""
    return right_holder(m % 16 + 16 * (n // 64), n % 64 + 64 * (m // 16))


def without_the_odd_column(m, n):
    """Two neighbors in one register, as bf16 would be."""
    thread, register = right_holder(m, n)
    return thread, register // 2


HOLDERS = [
    rows_dealt_out,
    a_thread_for_each_row,
    halves_last,
    pairs_apart,
    lanes,
    answer("register_first", "The pair exchanged.", lambda m, n: right_holder(m, n)[::-1]),
]
HOLDERS += [the_pictures_columns, halves_between_neighbors, lanes_down_the_columns, warps_of_8_rows, transposed]
HOLDERS += [
    a_warp_across,
    without_the_odd_column,
    answer("the_thread_alone", "No register.", lambda m, n: right_holder(m, n)[0]),
]

# 13.6 ring ------------------------------------------------------------------------------------------------------


@says("once in a round of the ring")
def turns_every_step(step, stages, producer):
    """Another phase in each step."""
    return step % stages, (step + producer) % 2


@says("That is the consumer's phase.")
def all_consumers(step, stages, producer):
    """The producer waits as the consumer does."""
    return step % stages, step // stages % 2


@says("The two phases are exchanged")
def phases_exchanged(step, stages, producer):
    """The consumer begins with 1, the producer with 0."""
    return step % stages, (step // stages + (not producer)) % 2


@says("A wait takes a parity")
def counts_rounds(step, stages, producer):
    """The round for its parity."""
    return step % stages, step // stages + producer


def never_wraps(step, stages, producer):
    """The step for the stage."""
    return step, (step // stages + producer) % 2


def all_producers(step, stages, producer):
    """Both begin with phase 1."""
    return step % stages, (step // stages + 1) % 2


def adds_behind_the_modulo(step, stages, producer):
    """Parity plus 1, which may be 2."""
    return step % stages, step // stages % 2 + producer


def turns_a_step_early(step, stages, producer):
    """The phase changes at the last stage."""
    return step % stages, ((step + 1) // stages + producer) % 2


def one_stage_on(step, stages, producer):
    """Counts stages from 1."""
    return (step + 1) % stages, (step // stages + producer) % 2


def masks(step, stages, producer):
    """& (stages - 1), right for powers of two."""
    return step & stages - 1, (step // stages + producer) % 2


def four_stages(step, stages, producer):
    """The kernel's own number of stages."""
    return step % 4, (step // 4 + producer) % 2


def free_in_the_first_round(step, stages, producer):
    """The producer's phase is 1 in round 0, and then the consumer's."""
    turn = step // stages
    return step % stages, 1 if producer and turn == 0 else turn % 2


def wraps_one_late(step, stages, producer):
    """A ring with a stage too many."""
    return step % (stages + 1), (step // (stages + 1) + producer) % 2


def phase_first(step, stages, producer):
    """The pair exchanged."""
    return right_ring(step, stages, producer)[::-1]


def true_for_1(step, stages, producer):
    """A truth value for the parity."""
    return step % stages, step // stages % 2 != producer


def a_step_behind(step, stages, producer):
    """The producer is as far ahead as there are stages."""
    return right_ring(step + stages * producer, stages, producer)


RINGS = [turns_every_step, all_consumers, phases_exchanged, counts_rounds, never_wraps, all_producers]
RINGS += [adds_behind_the_modulo, turns_a_step_early, one_stage_on, masks, four_stages, free_in_the_first_round]
RINGS += [wraps_one_late, phase_first, true_for_1, a_step_behind]

WRONG = {"13.2": BYTES, "13.4": HOLDERS, "13.6": RINGS}
