// Survey: what tools that look at a trace ask for, without the rest: its graph, and columns of what a
// recording adds. Trade-off: only of usual files (trace/usual.hpp) with ascending ids and nothing to
// complain of; others need a `Trace`, which takes five times as much memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "base/quick_wire.hpp"
#include "trace/graph.hpp"
#include "trace/roles.hpp"
#include "trace/trace.hpp"
#include "trace/usual.hpp"

namespace yantra {

// A kind and its value, to the end.
bool is_sound_value(QuickReader in);

struct Survey {
    struct IoTexts {
        std::string values, shapes, types;
    };

    Graph graph;
    Trace head;   // the metadata

    // By node.
    SharedVector<std::uint64_t> start_micros;
    IntColumn stream, thread, tid, start_time_ns;
    SharedVector<std::int32_t> part, communication;   // into the texts, or Graph::group_absent
    Interner parts, communications;

    // Dependencies as written; node i's data ends at data_end[i], where control begins, until dep_end[i].
    std::vector<std::uint32_t> dep, data_end, dep_end;

    std::vector<std::pair<std::uint32_t, IoTexts>> inputs;   // of metadata nodes

    AttributeRole role(std::string_view name);
    bool read_io(std::uint64_t key, QuickReader io);
    void take_io(std::size_t node, std::uint64_t type);   // what was read of this node

    template <typename Visit>
    void for_each_integer(const Visit& visit) {
        for (IntColumn* column : {&stream, &thread, &tid, &start_time_ns}) {
            visit(*column);
        }
    }

private:
    struct IoViews {
        std::string_view values, shapes, types;
    };
    std::optional<IoViews> read_;
};

class UsualReader;

// Takes a file in pieces, of which it keeps a record at most.
class Surveyor {
public:
    explicit Surveyor(std::uint64_t bytes);   // of the file, about
    Surveyor(const Surveyor&) = delete;
    Surveyor& operator=(const Surveyor&) = delete;
    ~Surveyor();

    bool feed(std::string_view piece);   // false if the file is unusual

    std::shared_ptr<Survey> finish();   // null if it is

private:
    bool take(std::string_view bytes);
    bool begin(QuickReader& in);

    std::uint64_t bytes_;
    std::size_t before_ = 0;   // bytes of whole records
    std::string rest_;
    bool is_usual_ = true;
    UsualRoom room_;
    std::shared_ptr<Survey> survey_;
    std::unique_ptr<UsualReader> reader_;
};

}  // namespace yantra
