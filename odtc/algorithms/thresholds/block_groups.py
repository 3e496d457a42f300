"""Scans of columns of many blocks by groups of neighbouring blocks, for more than two labels (the terms are explained
in depth_two). With two labels, a scan of all blocks is quicker.

At a cut within a group, the best label left of the cut saves no more than at the end of the group, and the best label
right of it saves no more than at the beginning of the group:

    saved(cut) <= max_{j != k} upto_j(end) + from_k(begin)

With the same label on both sides, a split saves no more than a leaf. So the sums of the groups bound the saving of all
cuts, and give the exact saving of the cuts between groups. Only groups whose bound is above the best known cut are
scanned entry by entry. These are plain functions of arrays, which numba compiles.
"""

import numpy as np

MIN_BLOCKS = 512  # minimum number of blocks of a column for which they are grouped


def group_size(n):
    """Return the least number of entries of a group: few, so that in uninformative columns the bounds of most groups
    are below the best cut."""
    return max(16, int(n**0.5 / 2))


def group_blocks(line, place, ends, inner, size):
    """Groups the blocks of a column.

    Parameters
    ----------
    line : uint32 (entries,), the entries by rising rank, as entry << 1 | last
    place : uint32 (entries,), to which the group of each entry is written
    ends : int32 (groups + 1,), to which the place behind the last entry of each group is written, from 1 on
    inner : bool (groups,), to which is written whether the group has more than one block
    size : int, entries that a group has at least

    Returns
    -------
    int : the number of groups
    """
    group, begin, blocks = 0, 0, 0
    ends[0] = 0
    for t in range(len(line)):
        place[line[t] >> 1] = group
        if line[t] & 1:
            blocks += 1
            if t + 1 - begin >= size or t + 1 == len(line):
                inner[group] = blocks > 1
                group += 1
                ends[group] = t + 1
                begin, blocks = t + 1, 0
    return group


def two_labels(upto, here, whole):
    """Return the most that two different labels save on the two sides of a cut within a group.

    Parameters
    ----------
    upto : int (labels,), what each saves up to the end of the group
    here, whole : int (labels,), what each saves on the group, and on all entries

    Returns
    -------
    int
    """
    one, next_one, label = -1, -1, -1
    two, next_two, other = -1, -1, -1
    for k in range(len(upto)):
        p = upto[k]
        if p > one:
            one, next_one, label = p, one, k
        elif p > next_one:
            next_one = p
        q = whole[k] - p + here[k]
        if q > two:
            two, next_two, other = q, two, k
        elif q > next_two:
            next_two = q
    return one + two if label != other else max(one + next_two, next_one + two)


def scan_groups(left, whole, inner, of_left, of_whole, weight_left, weight_whole, price, room):
    """Return the costs of the left and the right side with one split on a column or none.

    Parameters
    ----------
    left, whole : int (groups · labels,), what each label saves on the left side, and on all entries, of each group
    inner : bool (groups,), as of `group_blocks`
    of_left, of_whole : int (labels,), the sums of these
    weight_left, weight_whole : int, what the entries can cost at most
    price : int, of a branch node
    room : int64 (4, labels)

    Returns
    -------
    (int, int, int, int) : the least costs are at least the first two, and at most the other two
    """
    labels = len(of_left)
    groups = len(left) // labels
    none, none_right = 0, 0
    of_right = room[3]
    for k in range(labels):
        room[0, k] = 0
        room[1, k] = 0
        of_right[k] = of_whole[k] - of_left[k]
        none = max(none, of_left[k])
        none_right = max(none_right, of_right[k])
    behind, behind_right = none, none_right  # the best saving of a label from the beginning of the group on
    best, best_right, bound, bound_right = 0, 0, 0, 0
    at = 0
    for group in range(groups):
        up, down, up_right, down_right = 0, 0, 0, 0
        for k in range(labels):
            here = left[at + k]
            p = room[0, k] + here
            q = room[1, k] + whole[at + k] - here
            room[0, k] = p
            room[1, k] = q
            up = max(up, p)
            up_right = max(up_right, q)
            down = max(down, of_left[k] - p)
            down_right = max(down_right, of_right[k] - q)
        at += labels
        if inner[group]:
            if up + behind > max(bound, best):
                for k in range(labels):
                    room[2, k] = left[at - labels + k]
                bound = max(bound, two_labels(room[0], room[2], of_left))
            if up_right + behind_right > max(bound_right, best_right):
                for k in range(labels):
                    room[2, k] = whole[at - labels + k] - left[at - labels + k]
                bound_right = max(bound_right, two_labels(room[1], room[2], of_right))
        if group < groups - 1:
            best = max(best, up + down)
            best_right = max(best_right, up_right + down_right)
        behind, behind_right = down, down_right
    bound, bound_right = max(bound, best), max(bound_right, best_right)
    weight_right = weight_whole - weight_left
    one, two = weight_left - none, weight_right - none_right
    return (
        min(one, price + weight_left - bound),
        min(two, price + weight_right - bound_right),
        min(one, price + weight_left - best),
        min(two, price + weight_right - best_right),
    )


def settle_groups(left, whole, inner, ends, line, kind, size, side, wanted, of_side, weight, price, upto, gone, peak):
    """The least cost of one side with one test of a column or none.

    Parameters
    ----------
    left, whole, inner : as of `scan_groups`
    ends : int32 (groups + 1,), as of `group_blocks`
    line, kind, size : the entries of the column by rising rank, numbered within the node; the label that each saves,
        and how much
    side, wanted : uint8 (entries,), int: the entries of which `side` is `wanted` are on the side
    of_side : int (labels,), what each label saves on the side
    weight : int, what the entries of the side can cost at most
    price : int, of a branch node
    upto : int64 (groups + 1, labels), gone : int64 (3, groups + 1), peak : int64 (entries,), room

    Returns
    -------
    int
    """
    labels = len(of_side)
    groups = len(left) // labels
    sums, none = np.empty(labels, np.int64), 0
    for k in range(labels):
        upto[0, k] = 0
        none = max(none, of_side[k])
    gone[0, 0], gone[1, 0] = 0, none  # the best saving of a label before and behind a border of groups
    best, widest, widest_group = 0, 0, -1
    at = 0
    for group in range(groups):
        up, down = 0, 0
        for k in range(labels):
            p = upto[group, k] + (left[at + k] if wanted else whole[at + k] - left[at + k])
            upto[group + 1, k] = p
            up = max(up, p)
            down = max(down, of_side[k] - p)
        at += labels
        gone[0, group + 1], gone[1, group + 1] = up, down
        if group < groups - 1:
            best = max(best, up + down)
        gone[2, group] = 0  # upper bound on the saving of a cut within the group
        if inner[group] and up + gone[1, group] > best:
            for k in range(labels):
                sums[k] = upto[group + 1, k] - upto[group, k]
            gone[2, group] = two_labels(upto[group + 1], sums, of_side)
            if gone[2, group] > widest:
                widest, widest_group = gone[2, group], group
    if widest_group < 0 or widest <= best:
        return min(weight - none, price + weight - best)
    for turn in range(-1, groups):  # the group of the highest bound comes first
        group = widest_group if turn < 0 else turn
        if gone[2, group] <= best:
            continue
        begin, end = ends[group], ends[group + 1]
        for k in range(labels):
            sums[k] = upto[group, k]
        up = gone[0, group]
        for t in range(begin, end):  # without branches on the side, which a processor cannot predict
            v = sums[kind[t]] + size[t] * np.int64(side[line[t] >> 1] == wanted)
            sums[kind[t]] = v
            up = max(up, v)
            peak[t] = up
        for k in range(labels):
            sums[k] = of_side[k] - upto[group + 1, k]
        down = gone[1, group + 1]
        for t in range(end - 1, begin, -1):
            v = sums[kind[t]] + size[t] * np.int64(side[line[t] >> 1] == wanted)
            sums[kind[t]] = v
            down = max(down, v)
            if line[t - 1] & 1:
                best = max(best, peak[t - 1] + down)
    return min(weight - none, price + weight - best)
