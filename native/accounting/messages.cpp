#include "accounting/messages.hpp"

#include <vector>

#include "accounting/delays.hpp"
#include "accounting/steps.hpp"

namespace yantra {

u64 id_of(const Model& model, const Recording& recording, u32 place) {
    if (place == none) {
        return never;
    }
    const u32 actor = recording.actor_of(place);
    return model.work.job(recording.rank[actor]).graph->id[place - recording.first_node[actor]];
}

namespace {

std::vector<u64> queued_on_links(const Model& model, const Recording& recording) {
    const Delays delays(model, recording);
    std::vector<u64> queued(recording.messages.size());
    std::vector<u64> there(recording.messages.size());
    for (std::size_t i = 0; i < queued.size(); ++i) {
        there[i] = recording.moments[recording.messages[i].sent].time;
    }
    for (std::size_t i = 0; i < recording.hops.size(); ++i) {
        const HopLog& hop = recording.hops[i];
        const Dimension& d = delays.grid().dimension(delays.dimension_of_link(hop.link));
        const u64 bytes = recording.messages[hop.message].bytes;
        const u64 start = recording.moments[hop.begun].time;
        queued[hop.message] += start - there[hop.message];
        there[hop.message] =
            start + model.semantics.scale.ticks(d.latency_ns + static_cast<double>(bytes) / d.bytes_per_ns);
    }
    return queued;
}

}  // namespace

Messages messages(const Model& model, const Recording& recording) {
    const Delays delays(model, recording);
    Messages m;
    m.queued = queued_on_links(model, recording);
    for (std::size_t i = 0; i < recording.messages.size(); ++i) {
        const MessageLog& log = recording.messages[i];
        m.source.push_back(recording.source_of(log));
        m.destination.push_back(log.destination);
        m.tag.push_back(log.tag);
        m.bytes.push_back(log.bytes);
        m.dimension.push_back(delays.lowest_dimension(log));
        m.sent.push_back(recording.moments[log.sent].time);
        m.arrived.push_back(log.arrived == none ? never : recording.moments[log.arrived].time);
        m.node.push_back(id_of(model, recording, log.node));
        m.peer_node.push_back(id_of(model, recording, log.peer_node));
        m.alike.push_back(recording.alike[recording.actor_of(log.node)]);
    }
    return m;
}

}  // namespace yantra
