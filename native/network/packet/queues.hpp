// Queues: the disciplines of switches' ports.
#pragma once

#include <memory>

#include "network/packet/common.hpp"
#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

class Queues {
public:
    explicit Queues(Common& all) {
        if (all.settings.queue == "fifo") {
            return;
        }
        const Discipline* discipline = find_discipline(all.settings.queue);
        by_port_.resize(all.ports.size());
        all.ports.each([&](PortId port) {
            if (!all.ports[port].is_host) {
                by_port_[port] = discipline->make(all.packets.pool, all.settings);
            }
        });
    }

    bool empty() const { return by_port_.empty(); }
    QueueDiscipline* of(PortId port) const { return by_port_.empty() ? nullptr : by_port_[port].get(); }

private:
    IdVector<PortId, std::unique_ptr<QueueDiscipline>> by_port_;
};

}  // namespace yantra::packet
