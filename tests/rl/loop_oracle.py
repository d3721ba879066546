"""The loop of post-training, every tick walked: slow, and of nothing that the core has.

An instant does, until nothing changes: iterations end; rewards end and start; groups are resolved;
the trainer goes as far as it can; groups are submitted. Last, replicas start iterations.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from yantra.rl.job import Job

TIMED = ("switch", "logp", "ref", "train", "refit", "back")


class Sample:
    def __init__(
        self, key: tuple[int, int], prompt: int, turns: list[tuple[int, int, int]], reward: int
    ) -> None:
        self.key = key
        self.prompt, self.turns, self.reward = prompt, turns, reward
        self.known = prompt  # tokens of prompt, output and tools so far
        self.left = turns[0][0]  # tokens to make in the turn
        self.computed = self.lost = self.chunk = 0  # tokens of KV
        self.decodes = False
        self.turns_done: list[tuple[int, int, int]] = []
        self.back = -1  # when the tool is through
        self.submitted = self.begun = self.finished = self.rewarded = -1
        self.pieces: list[list[int]] = []

    @property
    def version(self) -> int:
        return self.pieces[0][0]

    @property
    def tokens(self) -> int:
        return self.known

    def lose_kv(self) -> None:
        self.lost = max(self.lost, self.computed)
        self.computed, self.decodes = 0, False


class Group:
    def __init__(self, samples: list[Sample], *, filtered: bool) -> None:
        self.samples, self.filtered = samples, filtered
        self.fate, self.resolved, self.left, self.step = "running", -1, -1, -1

    @property
    def oldest(self) -> int:
        return min(sample.version for sample in self.samples)


class Replica:
    def __init__(self) -> None:
        self.queue: list[Sample] = []
        self.seated: list[Sample] = []
        self.end = -1  # of the iteration that runs
        self.version = -1  # of it
        self.away: list[Sample] = []  # whose tools work
        self.loses_kv = False  # behind the iteration that runs
        self.ticks: Counter[str] = Counter()


class Walk:
    """One job; `run()` returns what `Schedule.as_json()` does."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.now = 0
        self.replicas = [Replica() for _ in range(job.replicas)]
        self.shared: list[Sample] = []
        self.waiting: list[Sample] = []  # for a reward
        self.in_service: list[tuple[int, Sample]] = []
        self.groups: list[Group] = []
        self.buffer: list[int] = []
        self.samples_submitted = self.opened = self.quota = self.accepted = 0
        self.phase, self.phase_end = "wait", 0
        self.plan: list[str] = []
        self.batch: list[int] = []
        self.minibatches: list[dict[str, Any]] = []
        self.trained = self.installed = self.steps_done = self.recomputed = self.integral = 0
        self.steps: list[list[int]] = []
        self.trainer: Counter[str] = Counter()
        self.capacity_kept = True

    # -- what is so

    def unfinished(self) -> bool:
        return any(s.finished < 0 for group in self.groups for s in group.samples)

    def unresolved(self) -> int:
        return sum(group.resolved < 0 for group in self.groups)

    def runs(self) -> bool:
        return any(replica.end > self.now for replica in self.replicas)

    def away(self) -> bool:
        return any(replica.away for replica in self.replicas)

    def stopped(self) -> bool:
        """No group is submitted."""
        if self.job.loop == "partial":
            return self.phase != "wait"
        return (
            self.job.placement == "split"
            and self.job.refit_rule != "in-flight"
            and self.phase in ("stop", "refit")
        )

    def halted(self) -> bool:
        """No iteration starts."""
        return self.stopped() and (self.job.loop == "partial" or self.job.refit_rule == "pause")

    # -- an instant

    def end_iterations(self) -> bool:
        finished = []
        changed = False
        for replica in self.replicas:
            if replica.end != self.now:
                continue
            replica.end, changed = -1, True
            for sample in replica.seated:
                sample.computed += sample.chunk
                if sample.chunk and sample.computed == sample.known:
                    self.make_token(replica, sample)
            done = [s for s in replica.seated if not s.left]
            replica.seated = [s for s in replica.seated if s.left]
            for sample in done:
                sample.decodes = False
                if len(sample.turns) > 1:
                    sample.back = self.now + sample.turns[0][1]
                    replica.away.append(sample)
                else:
                    sample.finished = self.now
                    finished.append(sample)
            if replica.loses_kv:
                self.lose_kv(replica)
        self.waiting += sorted(finished, key=lambda sample: sample.key)
        return self.come_back() or changed

    def make_token(self, replica: Replica, sample: Sample) -> None:
        sample.known += 1
        sample.left -= 1
        sample.decodes = True
        if not sample.pieces or sample.pieces[-1][0] != replica.version:
            sample.pieces.append([replica.version, 0])
        sample.pieces[-1][1] += 1

    def come_back(self) -> bool:
        changed = False
        for replica in self.replicas:
            back = [s for s in replica.away if s.back == self.now]
            replica.away = [s for s in replica.away if s.back != self.now]
            for sample in sorted(back, key=lambda sample: sample.key):
                sample.turns_done.append(sample.turns.pop(0))
                sample.known += sample.turns_done[-1][2]
                sample.left = sample.turns[0][0]
                replica.queue.append(sample)
                changed = True
        return changed

    def lose_kv(self, replica: Replica) -> None:
        for sample in [*replica.queue, *replica.away, *replica.seated]:
            sample.lose_kv()
        if self.job.share_prompts:
            for at, sample in enumerate(replica.seated):
                if any(other.key[0] == sample.key[0] for other in replica.seated[:at]):
                    sample.computed = min(sample.prompt, sample.known - 1)
        replica.loses_kv = False

    def reward(self) -> bool:
        changed = False
        while True:
            ended = [s for end, s in self.in_service if end == self.now]
            self.in_service = [one for one in self.in_service if one[0] != self.now]
            for sample in ended:
                sample.rewarded = self.now
            started = False
            servers = self.job.reward_servers
            while self.waiting and (servers is None or len(self.in_service) < servers):
                if not self.job.reward_overlap and self.unfinished():
                    break
                sample = self.waiting.pop(0)
                self.in_service.append((self.now + sample.reward, sample))
                started = True
            if not ended and not started:
                return changed
            changed = True

    def resolve(self) -> bool:
        changed = False
        for at, group in enumerate(self.groups):
            if group.resolved < 0 and all(s.rewarded >= 0 for s in group.samples):
                group.resolved, changed = self.now, True
                if group.filtered:
                    group.fate, group.left = "filtered", self.now
                else:
                    group.fate = "buffered"
                    self.accepted += 1
                    self.buffer.append(at)
        return changed

    def leave(self, at: int, fate: str) -> None:
        self.groups[at].fate, self.groups[at].left = fate, self.now

    def discard(self) -> bool:
        most = self.job.max_age
        old = [
            at
            for at in self.buffer
            if most is not None and self.trained - self.groups[at].oldest > most
        ]
        for at in old:
            self.leave(at, "stale")
            self.buffer.remove(at)
        return bool(old)

    def next_batch(self) -> list[int] | None:
        most = self.job.groups_per_step
        if self.job.refill == "round" and self.unresolved():
            return None
        if self.job.takes == "accepted":
            return self.buffer[:most] if len(self.buffer) >= most else None
        found = []
        for at, group in enumerate(self.groups):
            if group.resolved < 0:
                return None
            if group.fate == "buffered":
                found.append(at)
            if len(found) == most:
                return found
        return None

    def take(self) -> bool:
        batch = self.next_batch()
        if batch is None:
            return False
        self.batch = batch
        self.buffer = [at for at in self.buffer if at not in batch]
        for at in batch:
            self.groups[at].fate, self.groups[at].step = "trained", self.steps_done
        if self.job.refill == "round":
            for at in self.buffer:
                self.leave(at, "surplus")
            self.buffer = []
        self.steps.append([self.now, -1])
        colocated = self.job.placement == "colocated"
        many = self.job.groups_per_step // self.job.groups_per_minibatch
        partial = self.job.loop == "partial"
        self.plan = ["cut"] * partial + ["switch"] * colocated + ["logp", "ref"] + ["train"] * many
        if not colocated and not partial and self.job.refit_rule != "in-flight":
            self.plan.append("stop")
        self.plan += ["refit"] + ["back"] * colocated
        self.next_phase()
        return True

    def next_phase(self) -> None:
        if not self.plan:
            self.steps[-1][1] = self.now
            self.steps_done += 1
            self.installed = self.trained
            self.phase = "wait"
            if self.job.kv == "recompute":
                for replica in self.replicas:
                    replica.loses_kv = True
                    if replica.end <= self.now:
                        self.lose_kv(replica)
            return
        self.phase = self.plan.pop(0)
        if self.phase in TIMED:
            self.phase_end = self.now + self.length()

    def length(self) -> int:
        job = self.job
        if self.phase in ("switch", "back"):
            return job.switch
        if self.phase == "refit":
            return job.refit
        law: Any = getattr(job, self.phase)
        groups = self.batch
        if self.phase == "train":
            many = job.groups_per_minibatch
            at = job.groups_per_step // many - 1 - self.plan.count("train")
            groups = self.batch[at * many : (at + 1) * many]
            for group in groups:
                self.groups[group].left = self.now
            stale = [self.trained - s.version for g in groups for s in self.groups[g].samples]
            head = {"step": self.steps_done, "start": self.now, "end": -1, "version": self.trained}
            self.minibatches.append({**head, "groups": groups, "staleness": stale})
        sizes = [sample.tokens for g in groups for sample in self.groups[g].samples]
        squares = sum(size * size for size in sizes)
        return int(law.base + law.per_token * sum(sizes) + law.per_square * squares)

    def train(self) -> bool:
        changed = False
        while self.steps_done < self.job.steps:
            if self.phase == "wait":
                changed |= self.discard()
                if not self.take():
                    break
            elif self.phase in TIMED:
                if self.phase_end > self.now:
                    break
                if self.phase == "train":
                    self.trained += 1
                    self.minibatches[-1]["end"] = self.now
                self.next_phase()
            else:
                drains = self.phase == "stop" and self.job.refit_rule == "drain"
                if self.unfinished() if drains else self.runs():
                    break
                self.next_phase()
            changed = True
        return changed

    def allowed(self) -> bool:
        job, running, many = self.job, self.unresolved(), len(self.groups)
        if many == len(job.groups) or self.steps_done == job.steps or self.stopped():
            return False
        if job.loop == "async" and job.feed == "capacity":
            assert job.max_concurrent is not None and job.staleness is not None
            room = (job.staleness + self.steps_done + 1) * job.groups_per_minibatch
            left = min(job.max_concurrent - running, room - (self.accepted + running))
            return left > 0
        if job.loop == "async":
            assert job.max_concurrent is not None and job.max_age is not None
            whole = running + len(self.buffer)
            return running < job.max_concurrent and whole < 2 * job.max_age * job.groups_per_step
        if job.loop == "partial":
            assert job.in_flight_groups is not None
            return running + len(self.buffer) < job.in_flight_groups
        return self.in_batch(many)

    def in_batch(self, many: int) -> bool:
        job = self.job
        filtered = sum(group.fate == "filtered" for group in self.groups)
        more = filtered if job.refill == "one" else 0
        if many < self.quota + more:
            return True
        ahead = min(self.steps_done + (job.k or 0), job.steps - 1)
        if self.opened <= ahead and not self.unfinished():
            self.opened += 1
            self.quota += job.groups_per_step
            return True
        is_short = len(self.buffer) < job.groups_per_step and self.phase == "wait"
        if job.refill == "round" and is_short and not self.unresolved():
            self.quota += job.groups_per_step
            return True
        return False

    def submit(self) -> bool:
        changed = False
        while self.allowed():
            changed = True
            at, columns = len(self.groups), self.job.groups
            rows = range(columns.begin[at], columns.begin[at + 1])
            prompt, reward = int(columns.prompt[at]), columns.reward.tolist()
            made = [
                Sample((at, number), prompt, self.turns_of(row), reward[row])
                for number, row in enumerate(rows)
            ]
            self.groups.append(Group(made, filtered=bool(columns.filtered[at])))
            for sample in made:
                sample.submitted = self.now
                self.queue_of(sample).append(sample)
                self.samples_submitted += 1
        return changed

    def turns_of(self, row: int) -> list[tuple[int, int, int]]:
        turns = self.job.groups.turns
        if turns is None:
            return [(int(self.job.groups.output[row]), 0, 0)]
        these = slice(turns.begin[row], turns.begin[row + 1])
        columns = (turns.output[these], turns.delay[these], turns.added[these])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def queue_of(self, sample: Sample) -> list[Sample]:
        del sample
        if self.job.routing == "shared":
            return self.shared
        if self.job.routing == "round-robin":
            return self.replicas[self.samples_submitted % self.job.replicas].queue
        return min(self.replicas, key=lambda r: len(r.queue) + len(r.seated)).queue

    def start_iterations(self) -> None:
        if self.halted() or self.steps_done == self.job.steps:
            return
        free = [replica for replica in self.replicas if replica.end < 0]
        for replica in free:
            while replica.queue and self.may_sit(replica, replica.queue[0]):
                self.sit(replica, replica.queue.pop(0))
        while self.shared:
            own = [replica for replica in free if not replica.queue]
            open_ones = [replica for replica in own if self.may_sit(replica, self.shared[0])]
            if not open_ones:
                break
            replica = min(open_ones, key=lambda one: len(one.seated))
            self.sit(replica, self.shared.pop(0))
        for replica in free:
            self.make_room(replica)
            if replica.seated:
                replica.end = self.now + self.iteration(replica.seated)
                replica.version = self.installed

    def used(self, replica: Replica) -> int:
        """Tokens of KV of those who have a seat."""
        used = sum(sample.known for sample in replica.seated)
        if self.job.share_prompts:
            prompts = {sample.key[0]: sample.prompt for sample in replica.seated}
            used += sum(prompts.values()) - sum(sample.prompt for sample in replica.seated)
        return used

    def shares(self, replica: Replica, sample: Sample) -> bool:
        return self.job.share_prompts and any(s.key[0] == sample.key[0] for s in replica.seated)

    def may_sit(self, replica: Replica, sample: Sample) -> bool:
        seated = len(replica.seated)
        if seated >= self.job.seats:
            return False
        if self.job.kv_tokens is None or not seated:
            return True
        own = sample.known - (sample.prompt if self.shares(replica, sample) else 0)
        return self.used(replica) + own + seated + 1 <= self.job.kv_tokens

    def sit(self, replica: Replica, sample: Sample) -> None:
        if self.shares(replica, sample):
            sample.computed = max(sample.computed, min(sample.prompt, sample.known - 1))
        replica.seated.append(sample)
        sample.begun = self.now if sample.begun < 0 else sample.begun

    def make_room(self, replica: Replica) -> None:
        most = self.job.kv_tokens
        while most is not None and len(replica.seated) > 1:
            if self.used(replica) + len(replica.seated) <= most:
                return
            sample = replica.seated.pop()
            sample.lose_kv()
            replica.queue.insert(0, sample)

    def iteration(self, seated: list[Sample]) -> int:
        tokens = held = 0
        room = self.job.iteration_tokens or 10**9
        room -= sum(sample.decodes for sample in seated)
        for sample in seated:
            sample.chunk = 1
            if not sample.decodes:
                sample.chunk = max(min(sample.known - sample.computed, room), 0)
                room -= sample.chunk
                again = min(sample.computed + sample.chunk, sample.lost) - sample.computed
                self.recomputed += max(again, 0)
            tokens += sample.chunk
            held += sample.computed if sample.chunk else 0
        law = self.job.iteration
        took = law.per_iteration + law.per_token * tokens + law.per_context_token * (tokens + held)
        return int(took)

    # -- between instants

    def cause(self, replica: Replica) -> str:
        if replica.end > self.now:
            return "generation"
        if self.job.placement == "colocated" and self.phase in TIMED:
            return "switch" if self.phase == "back" else self.phase
        if self.phase == "refit" and self.job.refit_rule != "in-flight":
            return "refit"
        if self.runs():
            return "tail"
        if self.away():
            return "tool"
        return "reward" if self.in_service else "trainer"

    def tick(self) -> None:
        for replica in self.replicas:
            replica.ticks[self.cause(replica)] += 1
        if self.job.placement == "split":
            generates = self.runs() or self.away()
            waits = {"wait": "wait-generation" if generates else "wait-reward"}
            waits |= {"stop": "wait-stop", "cut": "wait-stop"}
            self.trainer[waits.get(self.phase, self.phase)] += 1
        for group in self.groups:
            if group.left < 0:
                self.integral += sum(sample.begun >= 0 for sample in group.samples)

    def check_capacity(self) -> None:
        job = self.job
        if job.loop == "async" and job.feed == "capacity":
            assert job.max_concurrent is not None and job.staleness is not None
            running = self.unresolved()
            room = (job.staleness + self.steps_done + 1) * job.groups_per_minibatch
            self.capacity_kept &= running <= job.max_concurrent
            self.capacity_kept &= self.accepted + running <= room

    def run(self) -> dict[str, Any]:
        while True:
            changed = True
            while changed:
                changed = self.end_iterations()
                changed |= self.reward()
                changed |= self.resolve()
                changed |= self.train()
                changed |= self.submit()
            self.check_capacity()
            self.start_iterations()
            if self.steps_done == self.job.steps:
                return self.told("ok")
            idle = not self.runs() and not self.away() and not self.in_service
            if idle and self.phase == "wait":
                return self.told("starved")
            self.tick()
            self.now += 1

    def told(self, status: str) -> dict[str, Any]:
        samples = [sample for group in self.groups for sample in group.samples]
        return {
            "status": status,
            "end": self.now,
            "steps": self.steps,
            "samples": [
                [
                    *s.key,
                    *(
                        None if at < 0 else at
                        for at in (s.submitted, s.begun, s.finished, s.rewarded)
                    ),
                    s.pieces,
                ]
                for s in samples
            ],
            "groups": [
                [at, g.fate, *(None if x < 0 else x for x in (g.resolved, g.left, g.step))]
                for at, g in enumerate(self.groups)
            ],
            "minibatches": self.minibatches,
            "replicas": [dict(replica.ticks) for replica in self.replicas],
            "trainer": dict(self.trainer),
            "counts": {
                "groups": dict(Counter(group.fate for group in self.groups)),
                "tokens": sum(tokens for s in samples for _, tokens in s.pieces),
                "recomputed": self.recomputed,
                "begun_not_left_sample_ticks": self.integral,
            },
        }
