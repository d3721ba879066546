"""SGLang's scheduler, slowly: rule by rule, with lists of tokens. It shares nothing with the core.

Trade-off: a look-up walks tokens one by one and eviction reads the whole tree, so it is for dozens
of requests. Rules: SGLang 0.5.23 (scheduler.py, schedule_policy.py, unified_tree_core.py).
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

CLIP = 4096


@dataclass(eq=False)
class Request:
    number: int
    arrival: int
    prompt: list
    output: int
    limit: int
    out: int = 0
    kv: int = 0
    pinned: int = 0
    node: "Node | None" = None
    first: int | None = None
    finish: int | None = None
    retractions: int = 0
    cached: int = 0
    taken_back: bool = False
    row: bool = False
    fill: int = 0
    entered: int = 0
    read: int = 0

    def tokens(self):
        return self.prompt + [(self.number, len(self.prompt) + at) for at in range(self.out)]

    def left(self):
        return self.limit - self.out

    def over(self):
        return self.finish is not None


@dataclass(eq=False)
class Node:
    key: list
    parent: "Node | None"
    children: list = field(default_factory=list)
    pins: int = 0
    stamp: int = 0

    def path(self):
        return [] if self.parent is None else [*self.parent.path(), self]

    def all(self):
        found = [self]
        for node in found:
            found.extend(node.children)
        return found


class Tree:
    def __init__(self, page):
        self.page, self.root, self.clock, self.evicted = page, Node([], None), 0, 0

    def tick(self):
        self.clock += 1
        return self.clock

    def common(self, a, b):
        same = 0
        while same < min(len(a), len(b)) and a[same] == b[same]:
            same += 1
        return same - same % self.page

    def next(self, node, tokens):
        first = tokens[: self.page]
        fits = [child for child in node.children if first and child.key[: self.page] == first]
        return fits[0] if fits else None

    def whole(self, tokens):
        return tokens[: len(tokens) - len(tokens) % self.page]

    def split(self, node, at):
        head = Node(node.key[:at], node.parent, [node], node.pins, self.tick())
        node.parent.children[node.parent.children.index(node)] = head
        node.key, node.parent, node.stamp = node.key[at:], head, self.tick()
        return head

    def match(self, tokens):
        tokens, node, found = self.whole(tokens), self.root, 0
        while child := self.next(node, tokens[found:]):
            same = self.common(child.key, tokens[found:])
            found += same
            if same < len(child.key):
                node = self.split(child, same)
                break
            node = child
        now = self.tick()
        for on_path in node.path():
            on_path.stamp = now
        return found, node

    def insert(self, tokens):
        """How many were there before, and the last node."""
        tokens, node, found = self.whole(tokens), self.root, 0
        while child := self.next(node, tokens[found:]):
            child.stamp = self.tick()
            same = self.common(child.key, tokens[found:])
            found += same
            node = self.split(child, same) if same < len(child.key) else child
        if found < len(tokens):
            node.children.append(Node(tokens[found:], node, [], 0, self.tick()))
            node = node.children[-1]
        return found, node

    def pin(self, node, by):
        for on_path in node.path():
            on_path.pins += by

    def evictable(self):
        return sum(len(node.key) for node in self.root.all() if not node.pins)

    def evict(self, tokens):
        gone = 0
        while gone < tokens:
            leaves = [n for n in self.root.all() if n.parent and not n.pins and not n.children]
            if not leaves:
                break
            oldest = min(leaves, key=lambda node: node.stamp)
            oldest.parent.children.remove(oldest)
            gone += len(oldest.key)
        self.evicted += gone
        return gone


@dataclass
class Step:
    items: list  # (request, tokens, context, emits)
    prompts: list = field(default_factory=list)  # requests of the prefill, decodes apart
    chunked: Request | None = None
    mixed: list = field(default_factory=list)

    def read(self):
        return sum(tokens for _, tokens, *_ in self.items)


class Scheduler:
    def __init__(self, config):
        self.c = {"schedule_conservativeness": 1.0, "ignore_eos": False, "overlap": False, **config}
        self.p = config["page_size"]
        self.free = config["kv_tokens"] // self.p * self.p
        self.tree = Tree(self.p)
        self.waiting, self.running, self.last = [], [], None
        self.chunk, self.full, self.rows = None, False, 0
        self.init = min(0.7 * self.c["schedule_conservativeness"], 1.0)
        self.low = 0.14 * self.init
        self.ratio, self.refreshes, self.flying = self.init, 0, []
        self.entries, self.read, self.read_by_decode, self.work = 0, 0, 0, {}
        self.stages, self.others_run = 1, False

    def queue(self, request):
        self.entries += 1
        request.entered, request.read = self.entries, self.read
        self.waiting.append(request)

    # --- memory -------------------------------------------------------------------------------
    def up(self, tokens):
        return -(-tokens // self.p) * self.p

    def ask(self, tokens):
        if self.c["radix_cache"] and self.free < tokens:
            self.free += self.tree.evict(tokens - self.free)
        return self.free >= tokens

    def available(self):
        return self.free + self.tree.evictable()

    def grow(self, request, tokens):
        self.free -= self.up(request.kv + tokens) - self.up(request.kv)
        assert self.free >= 0
        request.kv += tokens

    def look_up(self, request, tokens):
        return self.tree.match(tokens) if self.c["radix_cache"] else (0, self.tree.root)

    def publish(self, request, length):
        tokens = self.tree.whole(request.tokens()[:length])
        if not self.c["radix_cache"] or not tokens:
            return
        found, node = self.tree.insert(tokens)
        self.free += max(found - request.pinned, 0)
        prompt = self.tree.whole(request.prompt)
        if 0 < len(prompt) < len(tokens):
            self.tree.insert(prompt)
        if request.node:
            self.tree.pin(request.node, -1)
        self.tree.pin(node, 1)
        request.node, request.pinned = node, len(tokens)

    def release(self, request):
        self.free += self.up(request.kv) - request.pinned
        if request.node:
            self.tree.pin(request.node, -1)
        request.node, request.pinned, request.kv, request.row = None, 0, 0, False
        self.rows -= 1

    # --- one pass (rule 1) --------------------------------------------------------------------
    def plan(self):
        chunk = self.chunk
        if chunk and chunk.kv > chunk.fill:
            self.publish(chunk, chunk.kv)
            chunk.fill = chunk.kv
        if self.last and self.last.prompts:
            those = self.last.prompts + self.last.mixed
            goes_on = [
                r for r in those if not r.over() and r is not self.last.chunked and r is not chunk
            ]
            if len(goes_on) < len(those):
                self.full = False
            if goes_on and not self.running:
                self.full = False
                self.read_by_decode = self.last.read()
            self.running = self.running + goes_on
        stays = [r for r in self.running if not r.over()]
        if len(stays) < len(self.running):
            self.full = False
        self.running = stays
        step = self.prefill() or self.decode()
        self.last = step
        idle = not (step or self.flying or self.running or self.others_run)
        if idle and not self.waiting and not self.chunk:
            self.ratio = self.init
        return step

    # --- prefill (rules 2 to 7, 11) -----------------------------------------------------------
    def seats(self, batch):
        limit = self.c["max_running_requests"]
        held = sum(1 for r, _ in batch if r.row)
        return min(max(limit // self.stages, 1) - len(self.running), limit - self.rows + held)

    def prefill(self):
        if not self.running:
            self.full = False
        if not self.chunk:
            if self.full or not self.waiting:
                return None
            if self.seats([]) <= 0:
                self.full = True
                return None
        self.order()
        mixes = self.c["mixed_chunk"] and self.c["chunked_prefill_size"] > 0
        m = len(self.running) if mixes else 0
        ratio = 1.0 if self.c["ignore_eos"] else self.ratio
        self.batch, self.cut, self.needs = [], None, None
        self.input = self.c["max_prefill_tokens"] - m
        chunk_size = self.c["chunked_prefill_size"]
        self.left_of_chunk = chunk_size - m if chunk_size > 0 else float("inf")
        total = 0.0
        for r in self.running:
            total += min(r.left(), CLIP) * ratio
        self.total_offset, self.current_offset = m + total, m
        if self.chunk:
            self.continue_chunk()
        self.admit()
        if not self.batch:
            return None
        return self.launch(mixes)

    def total(self):
        return self.available() - self.total_offset

    def current(self):
        return self.available() - self.current_offset

    def charge(self, extend, new):
        self.total_offset += self.up(extend) + self.p + new
        self.current_offset += self.up(extend) + self.p
        self.input -= self.up(extend)
        self.left_of_chunk -= self.up(extend)

    def state(self):
        if self.total() <= 0 or self.current() <= 0:
            return "no tokens"
        return "stop" if self.input <= 0 or self.left_of_chunk <= 0 else "go on"

    def continue_chunk(self):
        r = self.chunk
        rest = len(r.tokens()) - r.kv
        bound = min(self.left_of_chunk, int(self.total()))
        if bound <= 0:
            bound = self.left_of_chunk
        bound = min(bound, self.chunk_limit(rest))
        bound = min(bound, self.available() + self.up(r.kv) - r.kv)  # what fits at all
        if bound <= 0:
            return
        extend = min(rest, bound)
        self.batch.append((r, extend))
        if extend < rest:
            self.cut = r
            self.charge(extend, 0)
        else:
            self.chunk = None
            self.charge(extend, min(r.limit, CLIP))

    def order(self):
        policy, cached = self.c["schedule_policy"], self.c["radix_cache"]
        by_tree = policy in ("lpm", "dfs-weight", "hrrn", "shortest-prefill-first")
        self.work = {}
        if not self.waiting:
            return
        if by_tree and cached and not (policy in ("lpm", "hrrn") and len(self.waiting) > 128):
            self.order_by_tree(policy)
            return
        if policy == "lof":
            self.waiting.sort(key=lambda r: -r.limit)
        elif policy == "routing-key" and self.running:
            counts = Counter(user_of(r.number) for r in self.running)
            users = {r: user_of(r.number) for r in self.waiting}
            self.waiting.sort(key=lambda r: (-counts.get(users[r], 0), users[r]))
        if cached:
            if self.refreshes % 32 == 0:
                for r in reversed(self.waiting[:128]):
                    self.look_up(r, r.tokens())
            self.refreshes += 1

    def order_by_tree(self, policy):
        scratch, behind, hits, ends = Tree(1), set(), {}, {}
        for r in self.waiting:
            tokens = r.tokens()
            hit, ends[r] = self.look_up(r, tokens)
            hits[r] = min(hit, len(tokens) - 1)
            self.work[r] = max(1, len(tokens) - hits[r])
            if hit <= 32:
                if scratch.match(tokens)[0] >= 32:
                    behind.add(r)
                else:
                    scratch.insert(tokens)

        def ratio(r):
            uncached = max(0, len(r.prompt) - hits[r])
            return (self.read - r.read) / uncached if uncached else float("inf")

        keys = {
            "lpm": lambda r: float("inf") if r in behind else -hits[r],
            "hrrn": lambda r: (float("inf") if r in behind else -ratio(r), r.number),
            "shortest-prefill-first": lambda r: (r in behind, self.work[r], r.entered),
        }
        if policy in keys:
            self.waiting.sort(key=keys[policy])
        else:
            self.waiting = depth_first(self.tree.root, self.waiting, ends)

    def chunk_limit(self, rest):
        budget = self.left_of_chunk
        if self.c["schedule_policy"] != "shortest-prefill-first" or budget < 2 * self.p:
            return float("inf")
        reserved = 0
        for r in self.waiting:
            work = self.work[r]
            if work >= rest or reserved + self.up(work) > budget - self.p:
                break
            reserved += self.up(work)
        return (budget - reserved) // self.p * self.p if reserved else float("inf")

    def admit(self):
        for r in list(self.waiting):
            if self.state() == "stop":
                return
            if len(self.batch) >= self.seats(self.batch):
                self.full = True
            if self.full:
                return
            hit, node = self.look_up(r, r.tokens()[:-1])
            verdict = self.test(r, hit, node)
            if verdict == "in":
                verdict = self.state()
            if verdict == "no tokens":
                self.full = bool(self.batch or self.running)
            if verdict != "go on":
                return

    def enter(self, r, extend, hit, node, cut):
        self.batch.append((r, extend))
        self.waiting.remove(r)
        r.kv, r.pinned, r.node, r.fill = hit, hit, node, hit
        r.cached += hit
        r.taken_back = False
        self.charge(extend, 0 if cut else min(r.limit, CLIP))
        if cut:
            self.cut = self.chunk = r
        return "in"

    def test(self, r, hit, node):
        extend = len(r.tokens()) - hit
        if self.c["ignore_eos"] and not self.c["radix_cache"]:
            if self.up(extend) + self.p > min(self.current(), self.total()):
                return "no tokens"
            if not self.forecast(r, self.up(extend) + self.p):
                return "no tokens"
            if extend <= self.left_of_chunk:
                return self.enter(r, extend, 0, node, False)
            return self.enter(r, self.left_of_chunk, 0, node, True)
        self.tree.pin(node, 1)
        verdict, cut = "in", False
        if not extend + min(max(r.left(), 0), CLIP) + self.p < self.total():
            verdict = "no tokens"
        elif self.c["chunked_prefill_size"] <= 0:
            if self.batch and self.up(extend) >= self.input:
                verdict = "stop"
        elif self.up(extend) > self.left_of_chunk:
            cut = True
            down = self.left_of_chunk // self.p * self.p
            extend = (hit + down) // self.p * self.p - hit
            if extend <= 0:
                verdict = "stop"
        if verdict == "in":
            return self.enter(r, extend, hit, node, cut)
        self.tree.pin(node, -1)
        return verdict

    def forecast(self, r, pages):
        def need(of):
            return (of.left(), len(of.tokens()))

        if self.needs is None:
            those = [r, *self.running, *(of for of, _ in self.batch)]
            self.needs = sorted(map(need, those), key=lambda entry: entry[0])
        else:
            mine = need(r)
            not_smaller = [i for i, entry in enumerate(self.needs) if entry[0] >= mine[0]]
            self.needs.insert(not_smaller[0] if not_smaller else len(self.needs) - 1, mine)
        freed = 0
        for at, (left, held) in enumerate(self.needs):
            n = len(self.needs) - at
            if not self.current() - pages + freed - left * n > n:
                return False
            freed += held
        return True

    def launch(self, mixes):
        extra = self.p * len(self.batch) if self.p > 1 else 0
        self.ask(sum(extend for _, extend in self.batch) + extra)
        items = []
        for r, extend in self.batch:
            if not r.row:
                r.row = True
                self.rows += 1
            items.append((r, extend, r.kv, r is not self.cut))
            self.grow(r, extend)
        step = Step(items, [r for r, _ in self.batch], self.cut)
        self.read += step.read()
        if mixes and self.running:
            self.drop_last_tokens()
            if self.running and self.fits(self.running):
                step.items += self.decodes()
                step.mixed, self.running = self.running, []
        return step

    # --- decode (rule 10) ---------------------------------------------------------------------
    def fits(self, those):
        return self.ask(self.p * sum(1 for r in those if r.kv % self.p == 0))

    def decodes(self):
        self.ask(self.p * len(self.running))
        items = [(r, 1, r.kv, True) for r in self.running]
        for r in self.running:
            self.grow(r, 1)
        return items

    def drop_last_tokens(self):
        flying = [r for step in self.flying for r, *_ in step.items]
        stays = [r for r in self.running if not (r in flying and r.out + 1 >= r.limit)]
        dropped = len(stays) < len(self.running)
        self.running = stays
        if dropped:
            self.full = False
        return dropped

    def decode(self):
        if not self.running:
            return None
        dropped = self.drop_last_tokens()
        if not self.running:
            return None
        if self.fits(self.running):
            self.ratio = max(self.ratio - (self.init - self.low) / 600, self.low)
        elif dropped:
            return None
        else:
            self.retract()
        self.read += self.read_by_decode if self.running else 0
        return Step(self.decodes()) if self.running else None

    def retract(self):
        self.running.sort(key=lambda r: (-r.out, len(r.prompt)))
        while len(self.running) > 1:
            r = self.running.pop()
            self.take_back(r)
            self.queue(r)
            self.ask(len(self.running) * 20)
            if self.fits(self.running):
                break
        if len(self.running) == 1 and not self.fits(self.running):
            self.take_back(self.running.pop())
        n = len(self.running)
        out, limits = sum(r.out for r in self.running), sum(r.limit for r in self.running)
        self.ratio = min(1.0, (out + 20 * n) / (limits + 1))
        self.full = False

    def take_back(self, r):
        self.release(r)
        r.retractions += 1
        r.taken_back = True

    # --- results ------------------------------------------------------------------------------
    def results(self, step, now):
        for r, tokens, context, emits in step.items:
            if not emits or r.over() or r.taken_back:
                continue
            r.out += 1
            if r.first is None:
                r.first = now
            if r.out == r.output:
                self.publish(r, min(r.kv, len(r.tokens())))
                self.release(r)
                r.finish = now
            elif r in step.prompts:
                self.publish(r, context + tokens)


def user_of(number):
    return number % 3


def depth_first(node, waiting, ends):
    """Behind those of the children, of which those with most below them come first."""

    def weight(of):
        return sum(ends[r] is of for r in waiting) + sum(map(weight, of.children))

    children = sorted(node.children, key=lambda child: -weight(child))
    below = [r for child in children for r in depth_first(child, waiting, ends)]
    return below + [r for r in waiting if ends[r] is node]


def requests_of(case):
    """Of a golden case: [arrival, prompt, output, (prefix, prefix tokens, (limit))]."""
    made = []
    for number, (arrival, prompt, output, *more) in enumerate(case["requests"]):
        prefix, shared, limit = [*more, None, 0, None][:3] if len(more) < 3 else more
        begin = []
        if isinstance(prefix, str):
            of = made[int(prefix[1:])]
            whole = of.prompt + [(of.number, len(of.prompt) + at) for at in range(of.output)]
            begin = whole[:shared]
        elif prefix is not None:
            begin = [(-1 - prefix, at) for at in range(shared)]
        tokens = begin + [(number, at) for at in range(len(begin), prompt)]
        made.append(Request(number, arrival, tokens[:prompt], output, limit or output))
    return made


def serve(case):
    """What the golden file would expect of a case, in its own terms."""
    requests, scheduler, cost = requests_of(case), Scheduler(case["config"]), case["cost"]
    coming = sorted(requests, key=lambda r: r.arrival)
    log, now, planned = [], 0, None

    def plan():
        while coming and coming[0].arrival <= now:
            scheduler.queue(coming.pop(0))
        return scheduler.plan()

    while True:
        step, planned = planned or plan(), None
        if step is None:
            if not coming:
                break
            now = coming[0].arrival
            continue
        if case["config"].get("overlap"):
            scheduler.flying = [step]
            planned = plan()
        tokens = sum(tokens for _, tokens, *_ in step.items)
        context = sum(context for _, _, context, _ in step.items)
        begin = now
        now += cost["per_iteration_ns"] + cost["per_token_ns"] * tokens
        now += cost["per_context_token_ns"] * (tokens + context)
        scheduler.flying = []
        scheduler.results(step, now)
        log.append([begin, now, [[r.number, tokens] for r, tokens, *_ in step.items]])
    assert all(a[1] <= b[0] for a, b in pairwise(log))
    return said(requests, log, now if log else 0, scheduler)


def said(requests, log, end, scheduler):
    return {
        "requests": [
            {
                "request": r.number,
                "first_token_ns": r.first,
                "finish_ns": r.finish,
                "retractions": r.retractions,
                "cached_tokens": r.cached,
            }
            for r in requests
        ],
        "iterations": len(log),
        "end_ns": end,
        "evicted_tokens": scheduler.tree.evicted,
        "log": log,
    }


KEPT = ("running", "last", "full", "read_by_decode")


def serve_in_stages(case, stages):
    """What a pipeline would do: micro-batches in turn, one planned when the first stage is free."""
    requests, scheduler, cost = requests_of(case), Scheduler(case["config"]), case["cost"]
    scheduler.stages = stages
    slots = [
        {"running": [], "last": None, "full": False, "read_by_decode": 0} for _ in range(stages)
    ]
    coming = sorted(requests, key=lambda r: r.arrival)
    log, now, free, turn, flights = [], 0, 0, 0, []  # flights: (end, slot, step)

    def plan():
        nonlocal turn
        for _ in range(stages):
            here, slot = turn, slots[turn]
            if any(of == here for _, of, _ in flights):
                return None
            scheduler.flying = [step for *_, step in flights]
            scheduler.others_run = any(s["running"] for s in slots if s is not slot)
            for name in KEPT:
                setattr(scheduler, name, slot[name])
            step = scheduler.plan()
            slot.update({name: getattr(scheduler, name) for name in KEPT})
            turn = (turn + 1) % stages
            if step:
                return here, step
        return None

    while coming or flights:
        events = [end for end, *_ in flights[:1]] + [r.arrival for r in coming[:1]]
        now = min([*events, free]) if free > now else min(events)
        while flights and flights[0][0] == now:
            scheduler.results(flights.pop(0)[2], now)
        while coming and coming[0].arrival <= now:
            scheduler.queue(coming.pop(0))
        if len(flights) < stages and free <= now and (planned := plan()):
            slot, step = planned
            tokens = sum(tokens for _, tokens, *_ in step.items)
            context = sum(context for _, _, context, _ in step.items)
            took = cost["per_iteration_ns"] + cost["per_token_ns"] * tokens
            took = 1000 * (took + cost["per_context_token_ns"] * (tokens + context))
            each = took // stages
            end = max(1000 * now + took, 1000 * (flights[-1][0] if flights else 0) + each)
            assert end % 1000 == 0 == each % 1000
            flights.append((end // 1000, slot, step))
            free = now + each // 1000
            log.append([now, end // 1000, [[r.number, tokens] for r, tokens, *_ in step.items]])
    return said(requests, log, now, scheduler)
