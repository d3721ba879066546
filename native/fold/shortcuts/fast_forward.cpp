#include "fold/shortcuts/fast_forward.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "fold/repetition.hpp"
#include "fold/shortcuts/fast_forward_state.hpp"

namespace yantra {

namespace {

constexpr u32 fewest_nodes = 24;      // of a job, to look for its repetition
constexpr u64 words_per_event = 4;    // cost of looking, before it waits for more events
constexpr u64 words_for_nothing = 10'000;

}  // namespace

FastForward::FastForward(const Model& model, const ActorClasses& classes, Simulation& run,
                         OrderGuard& guard, KnownPhases& phases)
    : model_(model),
      classes_(classes),
      run_(run),
      guard_(guard),
      phases_(phases),
      first_open_(actors(), 0),
      counted_down_(actors(), 0),
      shifts_(actors()) {
    ActorId longest(0);
    for (u32 at = 0; at < actors(); ++at) {
        if (job(ActorId(at)).ops.size() > job(longest).ops.size()) {
            longest = ActorId(at);
        }
    }
    const Repeats repeats =
        job(longest).ops.size() < fewest_nodes ? Repeats{} : find_repeats(job(longest));
    if (repeats.period > 0) {
        period_ = repeats.period;
        next_look_ = {longest, period_};
    }
}

const Nodes::OfActor& FastForward::of(ActorId actor) const {
    return run_.executor().state().actors[actor];
}

u64* FastForward::starts(ActorId actor) {
    return run_.executor().state().start.data() + of(actor).parts.front().first_place;
}

u64* FastForward::ends(ActorId actor) {
    return run_.executor().state().end.data() + of(actor).parts.front().first_place;
}

u64* FastForward::begins(ActorId actor) {
    std::vector<u64>& begun = run_.executor().state().begun;
    return begun.empty() ? nullptr : begun.data() + of(actor).parts.front().first_place;
}

void FastForward::look() {
    const u64 done = of(next_look_.actor).done;
    while (next_look_.nodes <= done) {
        next_look_.nodes += period_;
    }
    if (words_written_ > words_for_nothing + words_per_event * run_.engine().queue.processed()) {
        return;
    }
    const bool is_kept = !kept_ || since_kept_ + 1 == keep_after_;
    list_due(due_);
    words_written_ += due_.size();
    if (!is_kept && due_ != kept_->due) {   // quick to see, and the usual case
        ++since_kept_;
        return;
    }
    std::optional<State> now = state();
    if (!now) {
        ++next_look_.nodes;  // another moment of the block may be easier to describe
        return;
    }
    words_written_ += now->words.size();
    const bool is_back = kept_ && kept_->words == now->words && step_of_tags(*now);
    if ((is_back || is_kept) && !list_posted(*now)) {
        ++next_look_.nodes;
        return;
    }
    if (is_back) {
        bool same = true;
        for (u32 at = 0; at < actors() && same; ++at) {
            same = settle(ActorId(at), *now);
        }
        const u64 skippable = same ? std::min(times(), times_before_the_end(now->tick)) : 0;
        if (skippable > 0) {
            skip(*now, skippable);
        }
        if (same) {
            next_look_.nodes = never;
            return;
        }
    }
    ++since_kept_;
    if (is_kept) {
        keep_after_ *= kept_ ? 2 : 1;
        keep(std::move(*now));
    }
}

void FastForward::keep(State&& state) {
    for (u32 at = 0; at < actors(); ++at) {
        count_down(ActorId(at));
        const std::vector<u32>& waiting = of(ActorId(at)).waiting;
        words_written_ += waiting.size() / 8;
        state.waiting.add(waiting);
    }
    state.use = run_.network().capabilities().recurring_state->what_repeats();
    phases_.mark();
    kept_ = std::move(state);
    since_kept_ = 0;
}

// --- What a state is

void FastForward::list_due(std::vector<u64>& due) {
    due.clear();
    for (const Event& event : run_.engine().queue.pending()) {
        due.push_back(event.time - run_.now());
    }
}

std::optional<FastForward::State> FastForward::state() {
    State state;
    state.tick = run_.now();
    state.due = due_;
    const bool given = model_.collectives.system.priority == Priority::given;
    for (u32 at = 0; at < actors(); ++at) {
        const ActorId actor(at);
        u32& open = first_open_[actor];
        while (open < of(actor).waiting.size() && ends(actor)[open] != never) {
            ++open;
        }
        const i64 next = run_.collectives().state().next_priority[actor];
        state.actors.add({of(actor).done, open, next});
        state.origins.nodes_done.add(of(actor).done);
        state.origins.next_priority.add(given ? 0 : next);
    }
    if (phases_.somebody_waits() || !phases_.is_sure() || !in_step(state)) {
        return std::nullopt;
    }
    StateWriter writer(classes_, state.origins);
    visit(writer);
    if (!writer.possible() || !run_.network().capabilities().recurring_state->describe(writer.words)) {
        return std::nullopt;
    }
    state.words = std::move(writer.words);
    state.counts = std::move(writer.counts);
    state.tags = std::move(writer.tags);
    return state;
}

bool FastForward::in_step(State& state) {
    std::vector<u64>& made = state.origins.chunks_made;
    made.assign(classes_.communicator_classes.size(), never);
    for (u32 at = 0; at < actors(); ++at) {
        const std::vector<u64>& chunks =
            run_.collectives().planner().state().actors[ActorId(at)].chunks;
        for (const ActorClasses::Membership& in : classes_.memberships[at]) {
            u64& known = made[in.communicator_class];
            if (known != never && known != chunks[in.communicator_class]) {
                return false;
            }
            known = chunks[in.communicator_class];
        }
    }
    return true;
}

bool FastForward::list_posted(State& state) {
    Transport::State& transport = run_.transport().state();
    std::vector<Posted> all;
    bool possible = true;
    transport.matcher.for_each_message(transport.waiting(), [&](u32 at) {
        const Matcher::Waiting& waiting = transport.flights[at].waiting;
        if (waiting.side == Matcher::Side::receive) {
            const Completion& then = transport.flights[at].received;
            possible = possible && then.kind.owner() == Owner::execution;
            all.push_back({waiting.key(), at, then.b});
        }
    });
    std::stable_sort(all.begin(), all.end(), [](const Posted& a, const Posted& b) {
        return std::tie(a.key.src, a.key.dst, a.key.bytes, a.key.tag) <
               std::tie(b.key.src, b.key.dst, b.key.bytes, b.key.tag);
    });
    state.posted.resize(actors());
    for (const Posted& receive : all) {
        if (possible) {
            state.posted[ActorId(transport.flights[receive.flight].received.a)].push_back(receive);
        }
    }
    return possible;
}

// --- Whether the rest of the run goes as it went from the state kept

// All tags must rise equally. If there is no step yet, the jobs give it.
bool FastForward::step_of_tags(const State& now) {
    tag_step_.reset();
    for (std::size_t i = 0; i < now.tags.size(); ++i) {
        const u32 step = now.tags[i] - kept_->tags[i];
        if (step != tag_step_.value_or(step)) {
            return false;
        }
        tag_step_ = step;
    }
    return true;
}

bool FastForward::settle(ActorId actor, const State& now) {
    const Counts& before = kept_->actors[actor];
    Shift& shift = shifts_[actor];
    shift = {};
    shift.by = static_cast<u32>(now.actors[actor].done - before.done);
    if (now.actors[actor].first_open - before.first_open != shift.by) {
        return false;
    }
    count_down(actor);
    follow(actor);
    compare_nodes(actor, now);
    compare_posted(actor, now);
    return shift.by > 0 || shift.started.empty();
}

// The executor does not count down an only child's parents (Job::only_child), as nobody reads it.
void FastForward::count_down(ActorId actor) {
    const SharedVector<u32>& only_child = job(actor).only_child;
    const u64* const end = ends(actor);
    std::vector<u32>& waiting = run_.executor().state().actors[actor].waiting;
    for (u32 node = counted_down_[actor]; node < only_child.size(); ++node) {
        if (end[node] != never && only_child[node] != none) {
            waiting[only_child[node]] = 0;
        }
    }
    counted_down_[actor] = first_open_[actor];
}

void FastForward::follow(ActorId actor) {
    const Graph& graph = *job(actor).graph;
    const u64* const start = starts(actor);
    const u64* const end = ends(actor);
    const u64* const begun = begins(actor);
    Shift& shift = shifts_[actor];
    for (u32 node = kept_->actors[actor].first_open; node < graph.size(); ++node) {
        if (start[node] != never && start[node] > kept_->tick) {
            shift.started.push_back(node);
            shift.highest = std::max(shift.highest, node);
        }
        if (begun != nullptr && begun[node] != never && begun[node] > kept_->tick) {
            shift.begun.push_back(node);
        }
        if (end[node] != never && end[node] > kept_->tick) {
            shift.ended.push_back(node);
            shift.highest = std::max(shift.highest, node);
            for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
                shift.highest = std::max(shift.highest, graph.child[i]);
            }
        }
    }
    shift.more_in_flight =
        static_cast<i64>(shift.started.size()) - static_cast<i64>(shift.ended.size());
}

void FastForward::compare_nodes(ActorId actor, const State& now) {
    const std::vector<Op>& ops = job(actor).ops;
    const std::vector<u32>& waiting = of(actor).waiting;
    const u64* const start = starts(actor);
    const u64* const end = ends(actor);
    Shift& shift = shifts_[actor];
    auto had = [this](u64 tick) { return tick != never && tick <= kept_->tick; };
    for (shift.end = now.actors[actor].first_open; shift.end < waiting.size(); ++shift.end) {
        const u32 later = shift.end;
        const u32 node = later - shift.by;
        const Op& op = ops[later];
        if (!tag_step_ && (op.kind == OpKind::send || op.kind == OpKind::receive)) {
            tag_step_ = op.tag - ops[node].tag;
        }
        if (waiting[later] != kept_->waiting[actor][node] ||
            (start[later] != never) != had(start[node]) ||
            (end[later] != never) != had(end[node]) ||
            (shift.by > 0 && !repeats(job(actor), node, later, tag_step_.value_or(0)))) {
            break;
        }
    }
}

void FastForward::compare_posted(ActorId actor, const State& now) {
    Shift& shift = shifts_[actor];
    std::vector<Posted> before = kept_->posted[actor];
    for (Posted& receive : before) {
        receive.node += shift.by;
        receive.key.tag += tag_step_.value_or(0);
    }
    std::vector<Posted> after = now.posted[actor];
    const u64* const start = starts(actor);
    for (const Posted& receive : after) {
        if (start[receive.node] <= kept_->tick) {
            shift.last_posted = std::max(shift.last_posted, receive.node);
        }
    }
    for (;;) {
        auto beyond = [&shift](const Posted& receive) { return receive.node >= shift.end; };
        erase_if(before, beyond);
        erase_if(after, beyond);
        const auto [a, b] = std::mismatch(
            before.begin(), before.end(), after.begin(), after.end(),
            [](const Posted& x, const Posted& y) { return x.node == y.node && x.key == y.key; });
        if (a == before.end() && b == after.end()) {
            return;
        }
        shift.end = std::min(a == before.end() ? none : a->node, b == after.end() ? none : b->node);
    }
}

u64 FastForward::times() const {
    u64 fewest = never;
    for (const Shift& shift : shifts_) {
        if (shift.by == 0) {
            continue;
        }
        const u32 end = shift.more_in_flight == 0 ? shift.end : std::min(shift.end, shift.last_posted);
        fewest = std::min<u64>(fewest, end > shift.highest ? (end - 1 - shift.highest) / shift.by : 0);
    }
    return fewest == never ? 0 : fewest;
}

u64 FastForward::times_before_the_end(u64 now) const {
    return (latest_tick - now) / std::max<u64>(now - kept_->tick, 1);
}

}  // namespace yantra
