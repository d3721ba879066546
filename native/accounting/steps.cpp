#include "accounting/steps.hpp"

#include <algorithm>
#include <vector>

#include "accounting/delays.hpp"

namespace yantra {

namespace {

class Walk {
public:
    Walk(const Model& model, const Recording& recording)
        : recording_(recording), delays_(model, recording) {}

    std::vector<Step> back(u32 moment, u64 until) {
        for (u32 at = moment; at != none && recording_.moments[at].time > until;
             at = recording_.moments[at].cause) {
            add(recording_.moments[at], until);
        }
        std::reverse(steps_.begin(), steps_.end());
        return std::move(steps_);
    }

private:
    void add(const Moment& moment, u64 until) {
        const u64 cause = moment.cause == none ? 0 : recording_.moments[moment.cause].time;
        if (cause == moment.time) {
            return;
        }
        const StepKind kind = kind_of(moment.why());
        if (!is_of_message(moment.why())) {
            push(of_node(moment.subject(), kind), cause, moment.time, until);
            return;
        }
        Step step = of_message(moment.subject(), kind);
        if (moment.why() != Why::carried) {
            push(step, cause, moment.time, until);
            return;
        }
        const u64 bytes_from = cause + delays_.latency(moment.subject(), moment.time - cause);
        push(step, bytes_from, moment.time, until);
        step.kind = StepKind::latency;
        push(step, cause, bytes_from, until);
    }

    Step of_node(u32 place, StepKind kind) const {
        if (place == none) {
            return {0, 0, none, none, none, none, kind};
        }
        const u32 actor = recording_.actor_of(place);
        return {0, 0, recording_.rank[actor], place - recording_.first_node[actor], none, none, kind};
    }

    Step of_message(u32 subject, StepKind kind) const {
        const MessageLog& message = recording_.messages[recording_.message_of(subject)];
        Step step = of_node(message.node, kind);
        step.peer = message.destination;
        step.dimension = delays_.dimension(subject);
        return step;
    }

    // Steps come last first, so one that continues the latest ends where that one starts.
    void push(Step step, u64 start, u64 end, u64 until) {
        start = std::max(start, until);
        if (start >= end) {
            return;
        }
        step.start = start;
        step.end = end;
        if (!steps_.empty()) {
            Step& last = steps_.back();
            if (last.kind == step.kind && last.rank == step.rank && last.node == step.node &&
                last.peer == step.peer && last.dimension == step.dimension) {
                last.start = start;
                return;
            }
        }
        steps_.push_back(step);
    }

    const Recording& recording_;
    Delays delays_;
    std::vector<Step> steps_;
};

}  // namespace

StepKind kind_of(Why why) {
    switch (why) {
        case Why::compute:
            return StepKind::compute;
        case Why::host:
            return StepKind::host;
        case Why::memory:
            return StepKind::memory;
        case Why::hand_over:
            return StepKind::hand_over;
        case Why::reduction:
            return StepKind::reduction;
        case Why::carried:
        case Why::departed:
        case Why::timed:
            return StepKind::wire;
        case Why::link:
            return StepKind::queued;
        case Why::server:
            return StepKind::waiting;
        case Why::unexplained_device:
            return StepKind::unexplained_device;
        case Why::unexplained_host:
            return StepKind::unexplained_host;
        case Why::begin:
            return StepKind::begin;
        case Why::communication:
            return StepKind::communication;
        case Why::nothing:
        case Why::other:
            break;
    }
    return StepKind::other;
}

bool is_of_message(Why why) {
    return why == Why::carried || why == Why::departed || why == Why::link;
}

u32 place_of(const Outcome& outcome, u32 rank, u32 node) {
    return static_cast<u32>(outcome.first_node[rank]) + node;
}

std::vector<Step> critical_path(const Model& model, const Outcome& outcome,
                                const Recording& recording) {
    const auto last = std::max_element(outcome.finish.begin(), outcome.finish.end());
    const auto rank = static_cast<std::size_t>(last - outcome.finish.begin());
    const u32 actor = outcome.folded ? outcome.class_of[rank] : static_cast<u32>(rank);
    return Walk(model, recording).back(recording.finished[actor], 0);
}

std::vector<Step> waited_for(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 rank, u32 node) {
    const u32 place = place_of(outcome, rank, node);
    if (outcome.end[place] == never) {
        return {};
    }
    return Walk(model, recording).back(recording.ended[place], outcome.start[place]);
}

}  // namespace yantra
