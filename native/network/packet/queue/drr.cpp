// Deficit round robin: messages share a port by bytes, whatever the size of their packets and how many they send.
//
// Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM 1995. Messages are spread over
// `queues` lists by their number; those that are not empty take turns, and each turn is worth `quantum` bytes, of which
// what is not used counts on while the list is not empty. Law: of two lists that never empty, what left of either
// differs by less than a quantum and a packet for each turn in progress, whenever one looks. Trade-off: messages of one
// list share its part first in, first out; more lists part them better.
#include <algorithm>
#include <deque>
#include <vector>

#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

namespace {

class DeficitRoundRobin final : public QueueDiscipline {
public:
    DeficitRoundRobin(Pool<Packet>& packets, u32 queues, u64 quantum)
        : QueueDiscipline(packets), lists_(queues), quantum_(quantum) {}

    void push(u32 packet) override {
        const u32 at = packets_[packet].serial % static_cast<u32>(lists_.size());
        List& list = lists_[at];
        if (list.queue.empty()) {
            list.deficit = 0;
            turns_.push_back(at);
        }
        list.queue.push(packets_, packet);
    }

    u32 pop() override {
        while (!turns_.empty()) {
            List& list = lists_[turns_.front()];
            if (!is_begun_) {
                list.deficit += quantum_;
                is_begun_ = true;
            }
            const u64 bytes = packets_[list.queue.first].bytes;
            if (bytes <= list.deficit) {
                list.deficit -= bytes;
                const u32 packet = list.queue.pop(packets_);
                if (list.queue.empty()) {
                    end_turn(false);
                }
                return packet;
            }
            end_turn(true);
        }
        return none;
    }

    void list(std::vector<u32>& into) const override {
        for (const List& list : lists_) {
            add_all(list.queue, into);
        }
    }

private:
    struct List {
        PacketQueue queue;
        u64 deficit = 0;
    };

    void end_turn(bool has_more) {
        if (has_more) {
            turns_.push_back(turns_.front());
        }
        turns_.pop_front();
        is_begun_ = false;
    }

    std::vector<List> lists_;
    std::deque<u32> turns_;   // lists that are not empty, the one whose turn it is first
    bool is_begun_ = false;
    u64 quantum_;
};

const RegisteredDiscipline registered_drr({
    "drr",
    "messages share a port by bytes, in turn (deficit round robin)",
    [](Pool<Packet>& packets, const Settings& settings) -> std::unique_ptr<QueueDiscipline> {
        const double full = settings.payload_bytes + 100.0;
        return std::make_unique<DeficitRoundRobin>(packets,
                                                   static_cast<u32>(std::min(settings.option("queues", 64.0), 65536.0)),
                                                   static_cast<u64>(std::max(settings.option("quantum", full), 1.0)));
    },
    true,
    {
        {"queues", "", 64.0, 1.0, "Lists over which messages are spread."},
        {"quantum", "B", 0.0, 64.0, "Bytes of a turn; by default those of a full packet and some more."},
    },
});

}  // namespace

}  // namespace yantra::packet
