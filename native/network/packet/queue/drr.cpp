// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): messages, spread over `queues` lists
// by number, share a port by bytes; each turn is worth `quantum`. Short messages have lists of
// their own with a `short_weight` other than 1. Law: bytes served from two busy lists differ by
// less than a quantum and a packet for each turn in progress.
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

namespace {

class DeficitRoundRobin final : public QueueDiscipline {
public:
    DeficitRoundRobin(PacketPool& packets, u32 queues, std::vector<u64> quanta)
        : QueueDiscipline(packets), queues_(queues), lists_(queues * quanta.size()), quanta_(std::move(quanta)) {}

    void push(PacketId packet) override {
        const Packet& of = packets_[packet];
        const u32 of_class = std::min<u32>(of.priority, static_cast<u32>(quanta_.size()) - 1);
        const u32 at = of_class * queues_ + of.serial % queues_;
        List& list = lists_[at];
        if (list.queue.empty()) {
            list.deficit = 0;
            turns_.push_back(at);
        }
        list.queue.push(packets_, packet);
    }

    PacketId pop() override {
        while (!turns_.empty()) {
            List& list = lists_[turns_.front()];
            if (!is_begun_) {
                list.deficit += quanta_[turns_.front() / queues_];
                is_begun_ = true;
            }
            const u64 bytes = packets_[list.queue.first].bytes;
            if (bytes <= list.deficit) {
                list.deficit -= bytes;
                const PacketId packet = list.queue.pop(packets_);
                if (list.queue.empty()) {
                    end_turn(false);
                }
                return packet;
            }
            end_turn(true);
        }
        return PacketId::none;
    }

    void list(std::vector<PacketId>& into) const override {
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

    u32 queues_;
    std::vector<List> lists_;   // by class
    std::deque<u32> turns_;   // lists that are not empty, in the order of their turns
    bool is_begun_ = false;
    std::vector<u64> quanta_;
};

const RegisteredDiscipline registered_drr({
    "drr",
    "messages share a port by bytes, in turn (deficit round robin)",
    [](PacketPool& packets, const Settings& settings) -> std::unique_ptr<QueueDiscipline> {
        const double full = settings.payload_bytes + 100.0;
        const double quantum = std::min(std::max(settings.option("quantum", full), 1.0), 1e9);
        const double weight = std::min(settings.option("short_weight", 1.0), 1e6);
        std::vector<u64> quanta = {static_cast<u64>(quantum)};
        if (weight != 1.0) {
            quanta.insert(quanta.begin(), static_cast<u64>(std::max(weight * quantum, 1.0)));
        }
        return std::make_unique<DeficitRoundRobin>(
            packets, static_cast<u32>(std::min(settings.option("queues", 64.0), 65536.0)), std::move(quanta));
    },
    true,
    {
        {"queues", "", 64.0, 1.0, "Lists over which messages are spread."},
        {"quantum", "B", 0.0, 64.0, "Bytes of a turn; by default those of a full packet and some more."},
        {"short_weight", "", 1.0, 0.01, "Turns of short messages are worth so many quanta, and have their own lists."},
    },
});

}  // namespace

}  // namespace yantra::packet
