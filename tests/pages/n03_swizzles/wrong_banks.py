"""Wrong answers to notebook 03: wavefronts and padding."""

from tests.pages.n03_swizzles.swizzles import change, padded
from tests.pages.table import answer
from tutorlib.models import banks


def counts_lanes(addresses, width):
    """Counts a broadcast as a conflict."""
    banks = [address // 4 % 32 for address in addresses]
    return max(banks.count(bank) for bank in banks)


def whole_warp_at_once(addresses, width):
    """Right for 4 bytes a lane; knows no halves and quarters."""
    words = {address // 4 + n for address in addresses for n in range(max(1, width // 4))}
    banks = [word % 32 for word in words]
    return max(banks.count(bank) for bank in banks)


def banks_of_bytes(addresses, width):
    """Takes a bank to be one byte wide."""
    banks = [address % 32 for address in set(addresses)]
    return max(banks.count(bank) for bank in banks)


def always_best(addresses, width):
    """What an access without conflicts costs."""
    return max(1, len(addresses) * width // 128)


def one_element(columns, element_bytes, vector_bytes):
    """32 → 33 for everything: breaks the alignment of vectors."""
    return columns + 1


def one_vector(columns, element_bytes, vector_bytes):
    """Pads rows that had no conflict."""
    return columns + vector_bytes // element_bytes


def rounded_up(columns, element_bytes, vector_bytes):
    """Aligned, and still in few banks."""
    vectors = -(-columns * element_bytes // vector_bytes)
    return vectors * vector_bytes // element_bytes


def in_bytes(columns, element_bytes, vector_bytes):
    """The right stride, in bytes."""
    return (-(-columns * element_bytes // vector_bytes) | 1) * vector_bytes


in_wavefronts = change("03.1")
in_padding = change("03.2")


WRONG = {
    "03.1": [
        counts_lanes,
        whole_warp_at_once,
        banks_of_bytes,
        always_best,
        answer(
            "library",
            "has banks count",
            lambda a, w: banks.wavefronts(a, 1, w),
            "which does what you are asked to write",
        ),
        in_wavefronts(
            "lanes",
            "counts lanes",
            "{address // 4 for address in addresses[first : first + together]}",
            "[address // 4 for address in addresses[first : first + together]]",
            "You count lanes",
        ),
        in_wavefronts(
            "all_at_once", "all lanes together", "min(32, 128 // width)", "32", "You send all lanes through at once"
        ),
        in_wavefronts(
            "slowest",
            "the slowest group",
            "total += max(used.count(bank) for bank in used)",
            "total = max(total, max(used.count(bank) for bank in used))",
            "only the slowest group of lanes",
        ),
        in_wavefronts(
            "banks_of_bytes", "banks of one byte", "address // 4 for", "address for", "A bank is 4 bytes wide"
        ),
        in_wavefronts("banks_of_8", "banks of 8 bytes", "address // 4 for", "address // 8 for", "it should give"),
        in_wavefronts("sixteen_banks", "16 banks", "word % 32", "word % 16", "it should give 1"),
        in_wavefronts("last_group", "the last group alone", "total += max", "total = max", "it should give"),
        in_wavefronts(
            "different_banks",
            "counts banks",
            "max(used.count(bank) for bank in used)",
            "len(set(used))",
            "it should give 1",
        ),
        in_wavefronts(
            "words", "counts words", "max(used.count(bank) for bank in used)", "len(used)", "it should give 1"
        ),
        in_wavefronts(
            "groups_by_lanes", "quarters whatever the width", "min(32, 128 // width)", "8", "it should give 1"
        ),
        in_wavefronts("no_limit", "64 lanes at 2 bytes are all", "128 // width", "64 // width", "it should give 1"),
        in_wavefronts(
            "strided_groups",
            "every fourth lane in a group",
            "addresses[first : first + together]",
            "addresses[first // together :: -(-len(addresses) // together)]",
            "it should give",
        ),
        answer("ideal", "what is needed at least", lambda a, w: -(-len(a) * w // 128), "it should give"),
    ],
    "03.2": [
        one_element,
        one_vector,
        rounded_up,
        in_bytes,
        in_padding(
            "always_one_more",
            "pads odd ones too",
            "if vectors % 2 == 0:\n        vectors += 1",
            "vectors += 1",
            "An odd one was free of conflicts already",
        ),
        in_padding(
            "multiples_of_four",
            "pads where four vectors divide the row",
            "vectors % 2 == 0",
            "vectors % 4 == 0",
            "(48, 2, 16) gives 48",
        ),
        answer(
            "whole_turns_alone",
            "pads where a row is a multiple of 128 bytes, as every page on padding has it",
            lambda c, e, v: padded(c, e, v) if c * e % 128 == 0 else -(-c * e // v) * v // e,
            "it should give",
        ),
        in_padding("never", "only aligned", "vectors += 1", "pass", "it should give"),
        in_padding("odd_turned", "pads the odd ones", "vectors % 2 == 0", "vectors % 2 == 1", "it should give"),
        in_padding(
            "in_vectors",
            "counts vectors",
            "return vectors * vector_bytes // element_bytes",
            "return vectors",
            "it should give",
        ),
        in_padding(
            "rounded_down",
            "drops what does not fill a vector",
            "-(-columns * element_bytes // vector_bytes)",
            "columns * element_bytes // vector_bytes",
            "rows that end inside a vector",
        ),
        in_padding("in_bytes", "bytes", "* vector_bytes // element_bytes", "* vector_bytes", "it should give 33"),
        in_padding("two_more", "two vectors", "vectors += 1", "vectors += 2", "it should give"),
        in_padding(
            "elements_for_bytes",
            "forgets the element's size",
            "-columns * element_bytes // vector_bytes",
            "-columns // vector_bytes",
            "it should give 33",
        ),
        answer(
            "multiple_of_32_plus_1", "the next odd multiple", lambda c, e, v: -(-c // 32) * 32 + 1, "it should give"
        ),
        answer("eight", "always 8 more, as for bf16", lambda c, e, v: c + 8, "it should give 33"),
        answer("power", "the next power of two", lambda c, e, v: 1 << c.bit_length(), "it should give 33"),
        answer("as_is", "no padding", lambda c, e, v: c, "No padding"),
    ],
}
