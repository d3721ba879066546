// Queues: the disciplines of ports of switches.
#pragma once

#include <memory>

#include "network/packet/common.hpp"
#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

// A plain list needs no object, so with `fifo` there are none.
class Queues {
public:
    explicit Queues(Common& all) {
        if (all.settings.queue == "fifo") {
            return;
        }
        const Discipline* discipline = find_discipline(all.settings.queue);
        by_link_.resize(all.ports.size());
        for (u32 link = 0; link < all.ports.size(); ++link) {
            if (!all.ports[link].is_host) {
                by_link_[link] = discipline->make(all.packets.pool, all.settings);
            }
        }
    }

    bool empty() const { return by_link_.empty(); }
    // Null for a plain list.
    QueueDiscipline* of(u32 link) const { return by_link_.empty() ? nullptr : by_link_[link].get(); }

private:
    Vector<std::unique_ptr<QueueDiscipline>> by_link_;
};

}  // namespace yantra::packet
