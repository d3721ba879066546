// QueueDiscipline: which of the packets waiting at a switch's port leaves next. Each registers
// itself in its own file of network/packet/queue (`const RegisteredDiscipline`; laws:
// network/packet/queue_laws.hpp). One object a port, for data. Trade-off: a virtual call for each
// packet and switch.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "network/packet/congestion_control.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

class QueueDiscipline {
public:
    explicit QueueDiscipline(PacketPool& packets) : packets_(packets) {}
    QueueDiscipline(const QueueDiscipline&) = delete;
    QueueDiscipline& operator=(const QueueDiscipline&) = delete;
    virtual ~QueueDiscipline() = default;

    // Its `bytes`, `priority` (0 goes first where that counts) and `serial` may be read;
    // `next` is the discipline's until the packet has left.
    virtual void push(PacketId packet) = 0;
    // None if none waits.
    virtual PacketId pop() = 0;
    // In any order.
    virtual void list(std::vector<PacketId>& into) const = 0;

protected:
    void add_all(const PacketQueue& queue, std::vector<PacketId>& into) const {
        for (PacketId at = queue.first; !at.is_none(); at = at == queue.last ? PacketId::none : packets_[at].next) {
            into.push_back(at);
        }
    }

    PacketPool& packets_;
};

struct Discipline {
    using Make = std::unique_ptr<QueueDiscipline> (*)(PacketPool&, const Settings&);

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
    // Packets of one message leave in order of arrival.
    bool keeps_order = true;
    std::vector<SchemeOption> options = {};
};

// All, by name.
const std::vector<Discipline>& disciplines();
// Null if unknown.
const Discipline* find_discipline(std::string_view name);

struct RegisteredDiscipline {
    [[gnu::cold]] explicit RegisteredDiscipline(Discipline discipline);
};

}  // namespace yantra::packet
