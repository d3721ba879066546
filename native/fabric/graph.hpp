// FabricGraph: a cluster's devices (ranks first) and the directed links between them, as columns.
// Trade-off: about 60 bytes a link; plain topologies stay grids (fabric/grid.hpp).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace yantra {

enum class DeviceKind : u8 { rank, switched, nic, host, memory };

// Columns are by link unless stated.
struct FabricColumns {
    u32 ranks = 0;
    std::vector<u8> kinds;               // by device: DeviceKind
    std::vector<u32> from;
    std::vector<u32> to;
    std::vector<double> bytes_per_ns;
    std::vector<double> latency_ns;
    std::vector<u64> buffer_bytes;       // of the port that feeds the link; 0: no limit
    std::vector<u32> label;              // into `labels`
    std::vector<std::string> labels;
    std::vector<double> weight;          // summed and minimised by routes
    std::vector<i32> box;                // by device, or by rank, -1 for no box; or empty
    std::vector<i32> coordinates;        // by device, `dimensions` of each, -1 for none; or empty
    u32 dimensions = 0;
    // One name each, or numbered series "NAME 0", "NAME 1" and so on.
    std::vector<std::string> names = {};
    std::vector<std::pair<std::string, u32>> tiers = {};   // if neither: by kind and number
};

class FabricGraph {
public:
    // Throws std::invalid_argument.
    explicit FabricGraph(FabricColumns columns);

    // By link; the remaining links are renumbered.
    FabricGraph without(const std::vector<bool>& links) const;

    u32 ranks() const { return columns_.ranks; }
    u32 devices() const { return static_cast<u32>(columns_.kinds.size()); }
    u32 links() const { return static_cast<u32>(columns_.from.size()); }
    const std::vector<std::string>& labels() const { return columns_.labels; }
    DeviceKind kind(u32 device) const { return static_cast<DeviceKind>(columns_.kinds[device]); }

    u32 from(u32 link) const { return columns_.from[link]; }
    u32 to(u32 link) const { return columns_.to[link]; }
    double bytes_per_ns(u32 link) const { return columns_.bytes_per_ns[link]; }
    double latency_ns(u32 link) const { return columns_.latency_ns[link]; }
    u64 buffer_bytes(u32 link) const { return columns_.buffer_bytes[link]; }
    u32 label(u32 link) const { return columns_.label[link]; }
    double weight(u32 link) const { return columns_.weight[link]; }
    bool has_one_weight() const { return has_one_weight_; }

    u32 label_links(u32 label) const;
    double label_bytes_per_ns(u32 label) const;

    // Ascending.
    std::span<const u32> out(u32 device) const { return part(out_begin_, out_, device); }
    std::span<const u32> in(u32 device) const { return part(in_begin_, in_, device); }

    u32 box(u32 device) const { return box_.empty() ? none : box_[device]; }
    bool has_boxes() const { return !box_.empty(); }
    u32 dimensions() const { return columns_.dimensions; }
    i32 coordinate(u32 device, u32 dimension) const {
        return columns_.coordinates[std::size_t{device} * columns_.dimensions + dimension];
    }

    // "rank 3", "leaf 1", or "switch 17" without a name.
    std::string name(u32 device) const;
    // "link 5 (rank 3 to leaf 1)".
    std::string link_name(u32 link) const;

private:
    static std::span<const u32> part(const std::vector<u32>& begin, const std::vector<u32>& of,
                                     u32 device) {
        return {of.data() + begin[device], begin[device + 1] - begin[device]};
    }
    void check() const;
    void check_link(u32 link) const;
    void index();
    void find_boxes();

    FabricColumns columns_;
    std::vector<u32> out_begin_;
    std::vector<u32> out_;
    std::vector<u32> in_begin_;
    std::vector<u32> in_;
    std::vector<u32> box_;
    bool has_one_weight_ = true;
};

}  // namespace yantra
