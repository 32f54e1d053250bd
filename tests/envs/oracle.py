"""The three games once more, in plain Python and straight from their rules, as slow as it gets.

Nothing is shared with the library. Each game is a class with a board of characters, stepped with
agent actions (0 up, 1 down, 2 left, 3 right, 4 stay); `step` gives (board, reward, over).
"""

import numpy as np

MOVES = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}


class Catch:
    def __init__(self, params, cues_to_balls, cue_sequence):
        self.p, self.map, self.cues = params, cues_to_balls, cue_sequence
        self.f, self.row, self.free = 0, 1, params["reward_free_trials"]
        self.last_taught = 4 * params["initial_cue_duration"] - 1
        self.end = self.last_taught + 7 * params["num_trials"]

    def ball_column(self, f):
        """The column of both balls, None while they cannot be seen."""
        return None if f <= self.last_taught else 8 - (f - self.last_taught) % 7

    def board(self):
        b = np.full((7, 12), " ")
        b[self.row, 3] = "P"
        x = self.ball_column(self.f)
        if x is not None:
            b[1, x], b[2, x] = "a", "b"
        cue = symbol = None
        if self.f <= self.last_taught:
            b[1:3, 0:2] = b[1:3, 10:12] = "Q"
            cue = (self.last_taught - self.f) // self.p["initial_cue_duration"]
            symbol = self.map[cue]
        else:
            trial, j = divmod(self.f - self.last_taught, 7)
            duration = self.p["cue_duration"]
            seen = 1 <= j <= min(duration, 6) if trial == 0 else j <= min(duration, 7) - 1
            if seen:
                cue = self.cues[trial]
                if self.p["always_show_ball_symbol"]:
                    symbol = self.map[cue]
        if cue is not None:
            b[5:7, 3 * cue : 3 * cue + 3] = "Q"
        if symbol is not None:
            b[3:5, 6 * symbol : 6 * symbol + 6] = "Q"
        return b

    def step(self, action):
        before = self.ball_column(self.f)
        trial = (self.f - self.last_taught) // 7
        self.f += 1
        if action == 0:
            self.row = 1
        elif action == 1:
            self.row = 2
        reward = 0.0
        if before == 3:
            if self.free > 0:
                self.free -= 1
            elif self.row == (1, 2)[self.map[self.cues[trial]]]:
                reward = 1.0
        return self.board(), reward, self.f == self.end


LO = (84, 79, 72, 59, 39, 3)
HI = (104, 109, 116, 129, 151, 187)


def maze_kind(r, c):
    """The kind of one world cell: '#', '*' dirt, 'l', 'r', 't' or ' '."""
    r, c = r % 77, c % 191
    if r < 10:
        if 3 <= r <= 7 and 92 <= c <= 96:
            if not (4 <= r <= 6 and 93 <= c <= 95):
                return "#"
            return "t" if r == 4 else " "
        u, v = abs(r - 4), abs(c - 140)
        star = (
            (u == 0 and 1 <= v <= 5)
            or (u == 1 and v <= 1)
            or (u == 2 and v in (0, 2, 3))
            or (u == 3 and v in (0, 4, 5))
        )
        return "#" if star else " "
    for k in range(6):
        a, lo, hi = 12 + 11 * k, LO[k], HI[k]
        left_leg, right_leg = lo <= c <= lo + 4, hi - 4 <= c <= hi
        if (a <= r <= a + 3 and lo <= c <= hi) or (a + 4 <= r <= a + 7 and (left_leg or right_leg)):
            in_left, in_right = lo + 1 <= c <= lo + 3, hi - 3 <= c <= hi - 1
            if r == a + 6 and in_left:
                return "l"
            if r == a + 6 and in_right:
                return "r"
            hall = a + 1 <= r <= a + 2 and lo + 1 <= c <= hi - 1
            leg = a + 1 <= r <= a + 6 and (in_left or in_right)
            return " " if hall or leg else "#"
    return "*"


KIND = np.array([[maze_kind(r, c) for c in range(191)] for r in range(77)])


class Maze:
    def __init__(self, params, which_goal, speckle):
        self.p, self.goal, self.speckle = params, which_goal, speckle
        self.f = 0
        self.n, self.s, self.at = (3, 89), (0, 0), (3, 5)
        self.limit = params["timeout_frames"]
        self.orders = {}  # frame due: shift
        self.frozen = set()
        self.cue, self.teleported_at = True, None
        self.open = self.opens() <= 0
        self.permitted = self.permits(self.n, self.s, self.at, False)

    def opens(self):
        return max(0, self.p["teleport_delay"] - 1)

    def kind(self, n, s, cell):
        return str(KIND[(n[0] + s[0] + cell[0]) % 77, (n[1] + s[1] + cell[1]) % 191])

    def cue_cells(self):
        cols = (0, 1) if self.goal == 0 else (9, 10)
        return {(r, c) for r in (4, 5, 6) for c in cols} if self.cue else set()

    def blocked(self, cell, old_n, old_s, old_at, old_open):
        if not (0 <= cell[0] < 7 and 0 <= cell[1] < 11):
            return False
        if self.kind(self.n, self.s, cell) != "#":
            return False
        mark = self.kind(old_n, old_s, cell)
        drawn_over = mark in "lr" or (mark == "t" and old_open)
        return not (cell in self.cue_cells() or cell == old_at or drawn_over)

    def permits(self, old_n, old_s, old_at, old_open):
        around = {a: (self.at[0] + d[0], self.at[1] + d[1]) for a, d in MOVES.items()}
        return {a for a, c in around.items() if not self.blocked(c, old_n, old_s, old_at, old_open)}

    def board(self):
        b = np.full((7, 11), " ")
        for i in range(7):
            for j in range(11):
                r, c = (self.n[0] + self.s[0] + i) % 77, (self.n[1] + self.s[1] + j) % 191
                kind = KIND[r, c]
                if kind == "#" or (kind == "*" and self.speckle[r, c]):
                    b[i, j] = "#"
                elif kind in "lr" or (kind == "t" and self.open):
                    b[i, j] = "~"
        for cell in self.cue_cells():
            b[cell] = "Q"
        b[self.at] = "P"
        return b

    def step(self, action):
        self.f += 1
        f = self.f
        old_n, old_s, old_at, old_open = self.n, self.s, self.at, self.open
        if self.teleported_at == f - 1 and not self.p["cue_after_teleport"]:
            self.cue = False
        over = 0 <= self.limit <= f
        reward = 0.0 if over or f <= 1 else -0.001
        if f in self.orders:
            self.s = (self.s[0] + self.orders[f][0], self.s[1] + self.orders[f][1])
        if f not in self.frozen and action in MOVES and action in self.permitted:
            d = MOVES[action]
            camera = (self.n[0] + d[0], self.n[1] + d[1])
            if 0 <= camera[0] <= 70 and 0 <= camera[1] <= 180:
                self.n = camera
            else:
                cell = (self.at[0] + d[0], self.at[1] + d[1])
                if not self.blocked(cell, old_n, old_s, old_at, old_open):
                    self.at = cell
        self.permitted = self.permits(old_n, old_s, old_at, old_open)

        def pad(which, goal):
            nonlocal reward
            running = self.limit < 0 or f < self.limit
            if running and self.kind(old_n, self.s, self.at) == which:
                reward += 1.0 if self.goal == goal else -1.0
                self.limit = f + 1

        pad("l", 0)
        self.open = f >= self.opens()
        if self.open and self.kind(self.n, self.s, self.at) == "t" and self.teleported_at is None:
            self.teleport(f)
        pad("r", 1)
        return self.board(), reward, over

    def teleport(self, f):
        self.teleported_at = f
        down, limbo = 9 + 11 * self.p["level"], self.p["limbo_time"]
        column = self.n[1] + self.s[1] + self.at[1]
        if limbo <= 0:
            self.orders = {f + 1: (down, 0)}
        else:
            self.orders = {f + 1: (0, 140 - column), f + limbo: (down, -46)}
        self.frozen = {due + later for due in self.orders for later in (0, 1)}


CENTRES = {1: (8, 4), 2: (3, 10), 3: (8, 16), 4: (13, 10)}


def light_at(r, c):
    for light, (y, x) in CENTRES.items():
        dy, dx = abs(r - y), abs(c - x)
        if (dy <= 1 and dx <= 3) or (dy == 2 and dx <= 1):
            return light
    return 0


LIGHT = np.array([[light_at(r, c) for c in range(21)] for r in range(17)])


class Recall:
    def __init__(self, params, sequence):
        self.p, self.sequence = params, list(sequence)
        self.f, self.r, self.c = 0, 8, 10
        self.on, self.mode, self.slot = 0, "seeking", 0
        off = max(2, params["demo_light_off_frames"])
        on = max(2, params["demo_light_on_frames"])
        self.script = []
        for light in self.sequence:
            self.script += [0] * off + [light] * on
        self.script += [0] * max(2, params["pause_frames"])
        self.free = len(self.script)
        self.counter = params["timeout_frames"]
        self.clock = self.counter >= 0
        self.first_finished_seen = False
        self.counter -= 1 if self.clock else 0  # frame 0

    def board(self):
        b = np.full((17, 21), " ")
        b[0, :] = b[16, :] = b[:, 0] = b[:, 20] = "#"
        on = self.script[self.f] if self.f < self.free else self.on
        b[LIGHT > 0] = "M"
        if on:
            b[on == LIGHT] = str(on)
        b[self.r, self.c] = "P"
        if self.f < self.free:
            for r in (7, 8, 9):
                for c in (9, 10, 11):
                    if (r, c) != (8, 10):
                        b[r, c] = "#"
        return b

    def step(self, action):
        self.f += 1
        if self.f >= self.free and self.mode != "finished" and action in MOVES:
            r, c = self.r + MOVES[action][0], self.c + MOVES[action][1]
            if 0 < r < 16 and 0 < c < 20:
                self.r, self.c = r, c
        reward, over = 0.0, False
        if self.clock and self.counter <= 0:
            over = True
        else:
            reward = -0.005 if self.f > 1 else 0.0
            self.counter -= 1
        if self.f >= self.free:
            here = int(LIGHT[self.r, self.c])
            if self.mode == "finished":
                if not self.first_finished_seen:
                    self.first_finished_seen = True
                    self.counter, self.clock = 1, True
            elif self.mode == "seeking" and here:
                self.on = here
                reward += 1.0 if here == self.sequence[self.slot] else 0.0
                self.slot += 1
                self.mode = "finished" if self.slot == len(self.sequence) else "leaving"
            elif self.mode == "leaving" and not here:
                self.on, self.mode = 0, "seeking"
        return self.board(), reward, over
