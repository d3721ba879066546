// Totals of a pass in one walk.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "trace/tools/encode_pass.hpp"

namespace yantra {

namespace {

void add(std::int64_t& sum, std::int64_t bytes) {
    if (__builtin_add_overflow(sum, bytes, &sum)) {
        throw std::overflow_error("bytes of a pass beyond 63 bits");
    }
}

void add_flops(PassTotals& to, const PassOperation& one) {
    to.hardware_flops += static_cast<PassTotals::Sum>(one.tensor_flops);
    if (one.phase != "recompute") {
        to.model_flops += static_cast<PassTotals::Sum>(one.tensor_flops - one.repeated_flops);
    }
}

void add_memory(PassTotals& to, std::int64_t& most, const PassItem& item) {
    add(to.saved, item.operation->saves);
    add(to.held, item.holds);
    std::int64_t here = to.saved;
    add(here, to.held);
    if (here > most) {
        most = here;
        to.most_saved = to.saved;
        to.most_held = to.held;
    }
    add(to.saved, -item.operation->frees);
    add(to.held, -item.releases);
}

}  // namespace

PassTotals totals_of(std::span<const PassItem> items) {
    PassTotals made;
    std::vector<std::uint32_t> place;   // by key, one more
    std::int64_t most = 0;
    for (std::uint32_t at = 0; at < items.size(); ++at) {
        const PassItem& item = items[at];
        const PassOperation& one = *item.operation;
        for (const PassItem::Wait& wait : item.waits) {
            if (!wait.source && !made.too_early && (wait.key >= place.size() || place[wait.key] == 0)) {
                made.too_early = at;
            }
        }
        place.resize(std::max<std::size_t>(place.size(), item.key + std::size_t{1}));
        place[item.key] = at + 1;
        if (one.comm_type && std::find(made.groups.begin(), made.groups.end(), one.group) == made.groups.end()) {
            made.groups.push_back(one.group);
        }
        if (!one.peer.empty()) {
            made.messages.push_back(at);
        }
        made.stores = made.stores || one.kind == "mem_store";
        one.moved();   // throws where it does not fit
        made.all_flops += static_cast<PassTotals::Sum>(one.flops());
        add_flops(made, one);
        add_memory(made, most, item);
    }
    return made;
}

}  // namespace yantra
