#pragma once

namespace wick {

// Sanitizers keep memory that was freed and count what is allocated for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// How much slower programs are with them, at the most: bounds on time grow by it.
inline constexpr int kSlowness = kSanitized ? 20 : 1;

}  // namespace wick
