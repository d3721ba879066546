// Layout: where a model's communicators are on its ranks, in passes over ranks or members.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace yantra {

struct Span {
    u32 lowest = none;           // of those dimensions
    std::vector<std::vector<u32>> coordinates;
    // The dimensions as bits, if members have no partial one.
    std::optional<u64> whole;
};

// Precondition: the model has its dimensions.
Span span_of(const Model& model, const Shape& shape);

// From `first_index`: `count` steps of `base_stride` ranks and `index_stride` communicators.
struct Family {
    struct Axis {
        u32 count = 1;
        u32 base_stride = 0;
        u32 index_stride = 0;
    };
    u32 first_index = 0;
    u64 first_chunk = 0;
    u64 chunks_each = 0;
    u32 base = 0;
    std::vector<Axis> axes;
    u32 layout = 0;
    u32 aligned_layout = 0;      // if all members are within a dimension, by `farthest`
    std::vector<u32> farthest;   // coordinate of a member from that of the lowest, by dimension
    // By the place of the lowest rank among `inner` ranks; unlisted places have `layout`.
    u32 inner = 1;
    std::vector<std::pair<u32, u32>> split;
};

void add_communicators(Model& model, const Family& family);

// Greedy colouring: communicators that share a rank get different numbers; returns the count.
u32 number_queue_sets(Model& model);

struct TemplateUse {
    std::shared_ptr<const RankRules> rules;
    std::vector<std::pair<u32, u32>> collectives;
};

struct Assignment {
    struct Role {
        u32 in_template = none;
        u32 rank = none;                      // its first
        std::shared_ptr<const RankRules> rules;
        std::vector<u8> collective;           // slots, by place of the communicator
        std::vector<u8> send;
    };
    std::vector<Role> roles;
    std::vector<u32> role_of;                 // by rank
    std::vector<u32> comm_types;              // by layout: those in use, as bits
    u32 faulty = none;                        // a rank for which a name is undefined
};

Assignment assign(const Model& model, const std::vector<TemplateUse>& templates,
                  const std::vector<u32>& template_of);

}  // namespace yantra
