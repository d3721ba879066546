#include "network/packet/queue_laws.hpp"

#include <algorithm>
#include <vector>

#include "engine/rng.hpp"

namespace yantra::packet {

namespace {

constexpr u64 examples = 60;
constexpr u64 steps = 400;

class Trial {
public:
    Trial(const Discipline& discipline, u64 seed)
        : discipline_(discipline), random_(seed, u64{0x7175657565}, 0), queue_(discipline.make(packets_, settings_)) {}

    std::string broken() {
        const u64 messages = 1 + random_.below(12);
        const double pushes = 0.35 + 0.3 * random_.uniform();
        for (u64 step = 0; step < steps; ++step) {
            const std::string wrong = random_.uniform() < pushes ? push(messages) : pop();
            if (!wrong.empty()) {
                return wrong;
            }
        }
        while (!waiting_.empty()) {
            const std::string wrong = pop();
            if (!wrong.empty()) {
                return wrong;
            }
        }
        return pop();
    }

private:
    std::string push(u64 messages) {
        const PacketId made = packets_.take();
        Packet& packet = packets_[made];
        packet.serial = static_cast<u32>(random_.below(messages));
        packet.sender = SenderId(packet.serial);
        packet.priority = packet.serial % most_priorities;   // all of a message are of one class
        packet.bytes = 64 + static_cast<u32>(random_.below(1473));
        waiting_.push_back(made);
        queue_->push(made);
        return check_list();
    }

    std::string pop() {
        const PacketId popped = queue_->pop();
        if (popped.is_none()) {
            return waiting_.empty() ? ""
                                    : "none_only_where_none_waits: pop() gave none while " +
                                          std::to_string(waiting_.size()) + " packets wait";
        }
        const auto at = std::find(waiting_.begin(), waiting_.end(), popped);
        if (at == waiting_.end()) {
            return "every_packet_leaves_once: pop() gave packet " + std::to_string(popped.index()) + ", which does not wait";
        }
        const u32 serial = packets_[popped].serial;
        const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                        [&](PacketId packet) { return packets_[packet].serial == serial; });
        if (discipline_.keeps_order && first != at) {
            return "messages_keep_their_order: packet " + std::to_string(popped.index()) + " of message " +
                   std::to_string(serial) + " left before packet " + std::to_string(first->index()) + ", which came before it";
        }
        waiting_.erase(at);
        packets_.give_back(popped);
        return check_list();
    }

    std::string check_list() const {
        std::vector<PacketId> listed;
        queue_->list(listed);
        std::vector<PacketId> expected = waiting_;
        std::sort(listed.begin(), listed.end());
        std::sort(expected.begin(), expected.end());
        return listed == expected ? ""
                                  : "list_has_what_waits: list() gave " + std::to_string(listed.size()) +
                                        " packets where " + std::to_string(expected.size()) + " wait, or others";
    }

    const Discipline& discipline_;
    const Settings settings_;
    Rng random_;
    PacketPool packets_;
    std::unique_ptr<QueueDiscipline> queue_;
    std::vector<PacketId> waiting_;   // in order of arrival
};

}  // namespace

std::string broken_law(const Discipline& discipline) {
    for (u64 seed = 0; seed < examples; ++seed) {
        const std::string wrong = Trial(discipline, seed).broken();
        if (!wrong.empty()) {
            return wrong;
        }
    }
    return "";
}

}  // namespace yantra::packet
