#include "accounting/collectives.hpp"

#include <algorithm>
#include <vector>

#include "accounting/delays.hpp"
#include "accounting/steps.hpp"

namespace yantra {

namespace {

class Account {
public:
    Account(const Model& model, const Recording& recording)
        : recording_(recording), delays_(model, recording) {}

    void add(u32 place, u64 until) {
        parts_.place.push_back(place);
        for (std::vector<u64>* column : {&parts_.waiting_peers, &parts_.queued, &parts_.latency,
                                         &parts_.wire, &parts_.hand_over, &parts_.reducing}) {
            column->push_back(0);
        }
        const u32 instance = recording_.instance[place];
        u32 at = recording_.ended[place];
        while (recording_.moments[at].time > until) {
            const Moment& moment = recording_.moments[at];
            const u32 doer = doer_of(moment);
            const u64 from = std::max(until, recording_.moments[moment.cause].time);
            const bool own = doer != none && recording_.instance[doer] == instance;
            if (own || instance == none) {
                count(moment, from);
            } else {
                parts_.queued.back() += moment.time - from;
            }
            if (own && doer != place && moment.cause == recording_.issued[doer]) {
                parts_.waiting_peers.back() += from - until;
                return;
            }
            at = moment.cause;
        }
    }

    CollectiveParts take() { return std::move(parts_); }

private:
    u32 doer_of(const Moment& moment) const {
        return is_of_message(moment.why())
                   ? recording_.messages[recording_.message_of(moment.subject())].node
                   : moment.subject();
    }

    void count(const Moment& moment, u64 from) {
        const u64 cause = recording_.moments[moment.cause].time;
        switch (kind_of(moment.why())) {
            case StepKind::hand_over:
                parts_.hand_over.back() += moment.time - from;
                return;
            case StepKind::reduction:
                parts_.reducing.back() += moment.time - from;
                return;
            case StepKind::queued:
            case StepKind::waiting:
                parts_.queued.back() += moment.time - from;
                return;
            default:
                break;
        }
        u64 bytes_from = from;
        if (moment.why() == Why::carried) {
            const u64 latency = delays_.latency(moment.subject(), moment.time - cause);
            bytes_from = std::max(from, cause + latency);
        }
        parts_.latency.back() += bytes_from - from;
        parts_.wire.back() += moment.time - bytes_from;
    }

    const Recording& recording_;
    Delays delays_;
    CollectiveParts parts_;
};

constexpr i32 collective_node = 7;  // Chakra's COMM_COLL_NODE

}  // namespace

CollectiveParts collective_parts(const Model& model, const Outcome& outcome,
                                 const Recording& recording) {
    Account account(model, recording);
    for (std::size_t actor = 0; actor < recording.rank.size(); ++actor) {
        const Graph& graph = *model.work.job(recording.rank[actor]).graph;
        for (u32 node = 0; node < graph.size(); ++node) {
            const u32 place = recording.first_node[actor] + node;
            if (graph.type[node] == collective_node && recording.ended[place] != none) {
                account.add(place, outcome.start[place]);
            }
        }
    }
    return account.take();
}

}  // namespace yantra
